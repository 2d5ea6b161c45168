import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createVendorKey, type VendorKey } from '../../../test/support/upstream/key.ts'
import { createTestReach } from '../../../test/support/upstream/reach.ts'
import { serveUpstream, type Rule, type Upstream } from '../../../test/support/upstream/serve.ts'
import { writeAptTree, type AptTreeOptions } from '../../../test/support/upstream/trees.ts'
import { deb } from '../../formats/deb/index.ts'
import { trustKeys } from '../../signing/trusted-keys.ts'
import { judgeRoot } from './judge.ts'
import { troubleOf } from '../catalogue/outcome.ts'

const now = new Date('2026-11-21T12:00:00Z')
const DAY = 86_400_000
const before = (days: number): Date => new Date(now.getTime() - days * DAY)

let folder = ''
let upstream: Upstream
let key: VendorKey
let stranger: VendorKey
let reach = createTestReach()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-faults-'))
  key = await createVendorKey()
  stranger = await createVendorKey()
  upstream = await serveUpstream(join(folder, 'state'))
})
afterAll(async () => {
  reach.close()
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  reach.close()
  // hosts rest after failures; each test is another host's
  reach = createTestReach()
  upstream.rules()
})

/** Writes a state of the repository and serves it. */
async function state(name: string, options: AptTreeOptions = {}, version = '1.0'): Promise<string> {
  const dir = join(folder, name)
  await writeAptTree(dir, [{ name: 'one', version }], { key, date: before(1), ...options })
  upstream.serve(dir)
  return dir
}

/** What a synchronisation would end with: a state, or the packages. */
async function read(remembered: { at?: Date; origin?: string; codename?: string } = {}): Promise<unknown> {
  const keys = await trustKeys({ openpgp: [key.publicKey], rsa: new Map(), now: () => now })
  const signal = new AbortController().signal
  const { fetch } = reach.reach.open({ kind: 'http', format: 'deb', urls: [upstream.url] }, { signal })
  let isIndex = false
  try {
    const opened = await deb.upstream?.open({
      fetch,
      keys,
      now,
      suite: 'bookworm',
      components: ['main'],
      archs: ['amd64'],
    })
    const refusal = judgeRoot(remembered, opened?.roots ?? [], { signed: true })
    if (refusal !== undefined) return refusal.state
    isIndex = true
    const found = []
    for await (const entry of opened?.entries() ?? []) found.push(entry.read().identity.version)
    return found
  } catch (error) {
    return troubleOf(error, { inRoot: !isIndex, tried: { failures: 0, missing_since: null }, now }).state
  }
}

describe('a root', () => {
  test('that is whole and trusted is taken, with its signature inside or beside it', async () => {
    await state('good')
    expect(await read()).toEqual(['1.0'])
    await state('beside', { sign: 'detached' })
    expect(await read()).toEqual(['1.0'])
  })

  test.each([
    ['expired', { date: before(8), validDays: 7 }],
    ['not_yet_valid', { date: before(-1) }],
    ['unsigned', { sign: 'none' }],
    ['other_suite', { suite: 'bookworm', codename: 'trixie', fields: { Suite: 'testing' } }],
  ] as const)('is %s', async (word, options) => {
    await state(word, options)
    expect(await read()).toBe(word)
  })

  test('that somebody else signed is untrusted, however it is signed', async () => {
    await state('stranger', { key: stranger })
    expect(await read()).toBe('untrusted')
    await state('stranger-beside', { key: stranger, sign: 'detached' })
    expect(await read()).toBe('untrusted')
  })

  test('of an earlier state is replayed, and of another owner origin_changed', async () => {
    await state('older', { date: before(3) })
    expect(await read({ at: before(2) })).toBe('replayed')
    await state('owner', { origin: 'Other' })
    expect(await read({ at: before(2), origin: 'Vendor' })).toBe('origin_changed')
  })

  test('whose signature cannot be fetched is unreachable, and never unsigned', async () => {
    await state('no-answer', { sign: 'detached' })
    upstream.rules({ match: 'Release.gpg', fault: 'status', status: 500 })
    expect(await read()).toBe('unreachable')
  })

  const ROOT = 'InRelease'
  test.each<readonly [string, unknown, Rule]>([
    ['status', 'unreachable', { match: ROOT, fault: 'status', status: 503 }],
    ['redirect', 'unreachable', { match: ROOT, fault: 'redirect' }],
    ['reset', 'unreachable', { match: ROOT, fault: 'reset' }],
    ['portal', 'unreachable', { match: ROOT, fault: 'portal' }],
    ['cut', 'unreachable', { match: ROOT, fault: 'cut', at: 500 }],
    ['cutClose', 'untrusted', { match: ROOT, fault: 'cutClose', at: 500 }],
    ['empty', 'untrusted', { match: ROOT, fault: 'empty' }],
    ['flip', 'untrusted', { match: ROOT, fault: 'flip', at: 120 }],
    ['endless', 'damaged', { match: ROOT, fault: 'endless' }],
  ])('with the fault %s is %s', async (_fault, word, rule) => {
    await state('good')
    upstream.rules(rule)
    expect(await read()).toBe(word)
  })
})

describe('an index', () => {
  const INDEX = /binary-amd64\/(by-hash|Packages)/
  test.each<readonly [string, unknown, Rule]>([
    ['404 by hash', ['1.0'], { match: /by-hash/, fault: 'status', status: 404 }],
    ['404', 'mirror_syncing', { match: INDEX, fault: 'status', status: 404 }],
    ['flip', 'mirror_syncing', { match: INDEX, fault: 'flip' }],
    ['empty', 'mirror_syncing', { match: INDEX, fault: 'empty' }],
    ['cutClose', 'mirror_syncing', { match: INDEX, fault: 'cutClose' }],
    ['endless', 'mirror_syncing', { match: INDEX, fault: 'endless' }],
    ['encode', 'mirror_syncing', { match: INDEX, fault: 'encode' }],
    ['mislabel', ['1.0'], { match: INDEX, fault: 'mislabel' }],
    ['cut once', ['1.0'], { match: INDEX, fault: 'cut', times: 1 }],
    ['status', 'unreachable', { match: INDEX, fault: 'status', status: 500 }],
  ])('with the fault %s ends as %s', async (_fault, word, rule) => {
    await state('good')
    upstream.rules(rule)
    expect(await read()).toEqual(word)
  })

  test('of an earlier state under a new root is a mirror in the middle of its update', async () => {
    const old = await state('old')
    await state('next', {}, '2.0')
    upstream.rules({ match: INDEX, dir: old })
    expect(await read()).toBe('mirror_syncing')
    upstream.rules()
    expect(await read()).toEqual(['2.0'])
  })
})
