import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ImportReply, ResolveReply } from '../../server/features/imports/contract.ts'
import type { MirrorReport } from '../../server/imports/mirror/report.ts'
import type { DebSpec } from '../support/packages.ts'
import { createApkKey } from '../support/upstream/key.ts'
import { writeApkRepository, writeAptTree } from '../support/upstream/trees.ts'
import { startWithSource, type WithSource } from '../support/with-source.ts'

const END = { timeout: 120_000, interval: 200 }
const deb = (name: string, depends = '', description = 'as ever'): DebSpec => ({
  name,
  version: '1.0',
  fields: { Description: description, ...(depends === '' ? {} : { Depends: depends }) },
})
const FIRST = [deb('app', 'libapp'), deb('libapp'), deb('beside', 'libapp')]
/** The next day two of them have other bytes, and nobody raised their versions. */
const SECOND = [deb('app', 'libapp', 'another app'), deb('libapp', '', 'another lib'), deb('beside', 'libapp')]
const SAID =
  /^It is here with other bytes than elsewhere has under the same version \(SHA-256 [0-9a-f]{16}… here, [0-9a-f]{16}… there\)\. A version is never replaced, so what is here stays\. /

describe('a version whose bytes changed upstream', () => {
  let roots: string
  let with_: WithSource
  let before: string

  const fates = ({ packages }: ImportReply): string[] => packages.map(({ name, status }) => `${name} ${status}`).sort()
  const fetchNow = async (name: string): Promise<ImportReply> =>
    (await with_.call<ImportReply>('POST', '/import/fetch', { name, distribution: 'bookworm', group: `of-${name}` }))
      .body
  const served = async (): Promise<string> =>
    (await with_.it.call('GET', '/repos/dists/bookworm/main/binary-amd64/Packages')).text

  beforeAll(async () => {
    roots = await mkdtemp(join(tmpdir(), 'gh-trees-'))
    with_ = await startWithSource(
      { env: { REPO_FORMAT: 'all', IMPORT_ROOTS: roots } },
      { mirror: { min_free_disk_gb: 0 } },
    )
    await with_.offer(FIRST)
    expect(fates(await fetchNow('app'))).toEqual(['app added', 'libapp added'])
    before = await vi.waitFor(async () => {
      const text = await served()
      expect(text).toContain('Package: libapp')
      return text
    }, END)
    await with_.offer(SECOND)
  })
  afterAll(async () => {
    await with_.close()
    await rm(roots, { recursive: true, force: true })
  })

  test('is told when a closure is looked at, also of what it needs', async () => {
    const { body } = await with_.call<ResolveReply>('GET', '/import/resolve/app?distribution=bookworm')
    expect(body.upstream_changed).toEqual(
      [
        ['app', true],
        ['libapp', false],
      ].map(([name, isRoot]) => ({
        ...{ name, version: '1.0', arch: 'amd64', source: 'elsewhere', is_root: isRoot },
        message: expect.stringMatching(SAID),
      })),
    )
    expect(body).toMatchObject({ to_download: 0, already_in_repo: 2 })
    const beside = await with_.call<ResolveReply>('GET', '/import/resolve/beside?distribution=bookworm')
    expect(beside.body.upstream_changed.map(({ name, is_root: isRoot }) => [name, isRoot])).toEqual([['libapp', false]])
  })

  test('is not fetched and not replaced, and what needs it comes all the same', async () => {
    with_.upstream.forget()
    const answer = await fetchNow('app')
    expect(answer).toMatchObject({ status: 'none', counts: { upstream_changed: 2, added: 0, failed: 0 } })
    expect(answer.message).toContain('2 with other bytes upstream than here')
    expect(fates(answer)).toEqual(['app upstream_changed', 'libapp upstream_changed'])
    expect(answer.packages.map(({ why }) => why)).toEqual(Array(2).fill(expect.stringMatching(SAID)))
    expect(with_.upstream.log).toEqual([])
    const beside = await fetchNow('beside')
    expect(fates(beside)).toEqual(['beside added', 'libapp upstream_changed'])
    expect(beside.status).toBe('complete')
    await expect.poll(served, END).toContain('Package: beside')
    expect((await served()).replace(/Package: beside\n(?:.+\n)*\n?/, '').trim()).toBe(before.trim())
    const { groups } = (await with_.call<{ groups: { name: string }[] }>('GET', '/import/groups')).body
    expect(groups.find(({ name }) => name === 'of-beside')).toMatchObject({ counts: { added: 1, upstream_changed: 1 } })
  })

  test('is one of a batch, and is said in the lines of the job', async () => {
    const { text } = await with_.it.call('POST', '/import/batch', {
      token: await with_.it.setupAdmin(),
      body: { packages: ['app', 'beside'], distribution: 'bookworm' },
      headers: { Accept: 'text/event-stream' },
    })
    expect(text).toMatch(/data: error\|libapp 1\.0 \(amd64\) has other bytes upstream than here: It is here with other/)
    expect(text).toMatch(/data: done\|DONE\n\n$/)
  })

  test('is in the report of a mirror, which replaces nothing', async () => {
    const begun = await with_.call<{ job_id: string }>('POST', '/import/mirror/start/elsewhere')
    const path = `/import/mirror/jobs/${begun.body.job_id}`
    await expect.poll(async () => (await with_.call(`GET`, path)).body.status, END).toBe('done')
    const { sources } = (
      await with_.call<{ sources: { id: string; report: MirrorReport }[] }>('GET', '/import/mirror/sources')
    ).body
    const report = sources.find(({ id }) => id === 'elsewhere')?.report
    expect(report).toMatchObject({ end: 'complete', added: 0, changed_count: 2 })
    expect(report?.changed.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'app upstream_changed',
      'libapp upstream_changed',
    ])
    expect(report?.message).toContain('Other bytes there than here: 2. What is here stays.')
  })

  async function adopt(path: string, distribution: string): Promise<unknown> {
    const asked = await with_.call<{ job_id: string }>('POST', '/import/adopt', { path, distribution })
    expect(asked.status, asked.text).toBe(202)
    const job = async () => (await with_.call('GET', `/jobs/${asked.body.job_id}`)).body
    await expect.poll(async () => (await job()).status, END).toBe('done')
    return (await job()).result
  }

  test('is left out where a tree is adopted', async () => {
    const tree = join(roots, 'bookworm')
    await writeAptTree(tree, [...SECOND, deb('new')], { suite: 'bookworm' })
    expect(await adopt(tree, 'bookworm')).toMatchObject({
      ...{ added: 1, skipped: 1, failed: 0, upstream_changed: 2 },
      troubles: ['app', 'libapp'].map(name => ({
        path: `pool/main/${name}/${name}_1.0_amd64.deb`,
        fate: 'upstream_changed',
        why: expect.stringMatching(/^It is here with other bytes than the tree has/),
      })),
      message: expect.stringContaining('2 with other bytes than here'),
    })
  })

  test('is known of an apk by its control member, whoever signed the file', async () => {
    expect((await with_.call('POST', '/distributions/init', { codename: 'alpine3.20' })).status).toBe(200)
    const tree = join(roots, 'apks')
    const spec = { name: 'tool', version: '1.0-r0', files: { 'usr/bin/tool': 'one' } }
    await writeApkRepository(tree, [spec, { name: 'same', version: '1.0-r0' }])
    expect(await adopt(tree, 'alpine3.20')).toMatchObject({ added: 2 })
    const key = createApkKey()
    const next = [
      { ...spec, files: { 'usr/bin/tool': 'two' } },
      { name: 'same', version: '1.0-r0' },
    ]
    await writeApkRepository(tree, next, { key })
    const pinned = await with_.call('POST', '/import/keys', { public_key: key.publicKey, key_name: key.keyName })
    expect(pinned.status, pinned.text).toBe(201)
    const wish = { name: 'Apks', type: 'apk', url: tree, distribution: 'alpine3.20', architectures: ['x86_64'] }
    const added = await with_.call('POST', '/import/sources', { ...wish, keys: [key.keyName] })
    expect(added.status, added.text).toBe(201)
    await with_.call('PATCH', '/settings/', { sources: { 'alpine3.20-main': false, 'alpine3.20-community': false } })
    expect((await with_.call('POST', '/import/sources/apks/sync')).text).toContain('"count":2')
    for (const [name, changed] of [
      ['tool', ['tool']],
      ['same', []],
    ] as const) {
      const { body } = await with_.call<ResolveReply>('GET', `/import/resolve/${name}?distribution=alpine3.20`)
      expect(body.upstream_changed.map(one => one.name)).toEqual(changed)
    }
  })
})
