import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Distribution } from '../core/repository.ts'
import { isRefusal } from '../core/errors.ts'
import type { PackageIdentity } from '../core/identity.ts'
import { relPath } from '../core/identity.ts'
import type { SpooledFile } from '../files/spool.ts'
import { createUnpackedCopies } from '../files/unpacked.ts'
import type { Format, InnerStream } from './format.ts'
import { FORMATS, getFormat, hasRegistries, recognise } from './index.ts'

/** The samples that a format's test passes in; the suite gets everything else from the format. */
export interface ContractSamples {
  readonly format: Format
  readonly distribution: Distribution
  /** A valid package of this identity whose payload holds `content` at `path`. */
  build(identity: PackageIdentity, path: string, content: string): Promise<Buffer>
  spool(folder: string, filename: string, bytes: Buffer): Promise<SpooledFile>
  /** Valid identities that differ in every part. */
  readonly identities: readonly PackageIdentity[]
  /** Identities that must be refused, one fault each. */
  readonly refused: readonly PackageIdentity[]
  /** Versions from the oldest to the newest, no two equal; at least ten. */
  readonly ascending: readonly string[]
}

const MARK = 'the content that must reach the antivirus engine'

async function drain(streams: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of streams) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function testVersions({ format, ascending }: ContractSamples): void {
  test('comparing two versions either way gives the same order', () => {
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries())
        expect(Math.sign(format.compareVersions(a, b)), `${a} to ${b}`).toBe(Math.sign(i - j))
    }
  })

  test('version keys have that order by code point, in plain text', () => {
    const keys = ascending.map(version => format.versionKey(version))
    expect(keys).toEqual(keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
    expect(new Set(keys).size).toBe(keys.length)
    for (const key of keys) expect(key).toMatch(/^[!-~]+$/)
  })

  test('a package satisfies needs for its name and for the bounds it is in', () => {
    const [low = '', middle = '', high = ''] = [ascending[0], ascending[ascending.length >> 1], ascending.at(-1)]
    const have = { name: 'some-package', version: middle }
    expect(format.satisfies(have, { name: 'some-package' })).toBe(true)
    expect(format.satisfies(have, { name: 'other-package' })).toBe(false)
    for (const [op, expected] of [
      ['<', [false, false, true]],
      ['<=', [false, true, true]],
      ['=', [false, true, false]],
      ['>=', [true, true, false]],
      ['>', [true, false, false]],
    ] as const) {
      expect(
        [low, middle, high].map(version => format.satisfies(have, { name: 'some-package', op, version })),
        op,
      ).toEqual(expected)
    }
  })
}

function testNames({ format, distribution, identities, refused }: ContractSamples): void {
  test('identities of real packages are accepted, others are refused', () => {
    expect(identities.map(identity => format.complain(identity))).toEqual(identities.map(() => undefined))
    for (const identity of refused)
      expect(format.complain(identity), JSON.stringify(identity)).toEqual(expect.stringMatching(/.{10}/))
  })

  test('every identity has a pool path and a purl of its own', () => {
    const paths = identities.map(identity => format.poolName(identity, identity.name, 'main'))
    expect(new Set(paths).size).toBe(identities.length)
    for (const path of paths) {
      expect(relPath(path)).toBe(path)
      expect(
        format.endings.some(ending => path.endsWith(ending)),
        path,
      ).toBe(true)
    }
    const purls = identities.map(identity => format.purl(identity, distribution))
    expect(new Set(purls).size).toBe(identities.length)
    for (const purl of purls) expect(purl).toMatch(/^pkg:[a-z]+\/[^\s?#]+@[^\s?#]+(\?[^\s#]+)?$/)
    for (const identity of identities) expect(format.installCommand(identity)).toContain(identity.name)
  })

  test('which of its requests are downloads is said for a tree or for registries, as it has the one or the others', () => {
    expect([format.site !== undefined, format.fetches !== undefined]).toEqual([
      !hasRegistries(format),
      hasRegistries(format),
    ])
  })

  test('it is registered, and its file endings are lower case with a dot', () => {
    expect(getFormat(format.id)).toBe(format)
    expect(distribution.format).toBe(format.id)
    for (const ending of format.endings) expect(ending).toMatch(/^\.[a-z0-9.]+$/)
  })
}

function testBytes(samples: ContractSamples): void {
  const { format, identities } = samples
  const identity = identities[0] ?? { format: format.id, name: '', version: '', arch: '' }
  const signal = new AbortController().signal
  let folder: string
  let bytes: Buffer
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'format-contract-'))
    bytes = await samples.build(identity, 'usr/share/marked', MARK)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** `undefined` when it was accepted; anything but a refusal is thrown. */
  const look = async (changed: Buffer): Promise<string | undefined> => {
    const file = await samples.spool(folder, 'changed', changed)
    try {
      await format.inspect(file, signal)
      return undefined
    } catch (error) {
      if (isRefusal(error, 'bad_package')) return error.message
      throw error
    } finally {
      await file.discard()
    }
  }

  test('inspecting a package gives the same facts every time', async () => {
    for (const one of identities) {
      const file = await samples.spool(folder, 'one', await samples.build(one, 'usr/share/marked', MARK))
      const found = await format.inspect(file, signal)
      expect(found.identity).toEqual(one)
      expect(found.paths).toContain('usr/share/marked')
      expect(found.about.provides).toContainEqual(expect.objectContaining({ name: one.name, version: one.version }))
      const { identity: _, about, facts, paths } = found
      expect(JSON.parse(JSON.stringify({ about, facts, paths }))).toEqual({ about, facts, paths })
      expect(await format.inspect(file, signal)).toEqual(found)
    }
  })

  test('its first bytes are recognised, by it alone; other files are by none', () => {
    const head = bytes.subarray(0, 512)
    const ofTrees = FORMATS.filter(one => !hasRegistries(one))
    expect(format.recognises(head)).toBe(true)
    expect(ofTrees.filter(one => one.recognises(head))).toEqual(hasRegistries(format) ? [] : [format])
    // what a registry takes is never told apart by its first bytes
    if (hasRegistries(format)) expect(() => recognise(head, 'x')).toThrow('x')
    else expect(recognise(head, 'x')).toBe(format)
    for (const other of [
      Buffer.alloc(0),
      Buffer.alloc(512),
      Buffer.from('PK\u0003\u0004'),
      Buffer.from('#!/bin/sh\n'),
      bytes.subarray(1, 513),
      bytes.subarray(0, 2),
    ]) {
      expect(format.recognises(other)).toBe(false)
    }
    expect(() => recognise(Buffer.from('#!/bin/sh'), 'x.sh')).toThrow(
      expect.objectContaining({ code: 'unknown_format' }),
    )
  })

  test('cut off anywhere, it is refused', async () => {
    for (let length = 0; length < bytes.length - 1; length += Math.max(1, Math.floor(bytes.length / 60))) {
      expect(await look(bytes.subarray(0, length)), `${length} of ${bytes.length} bytes`).toBeDefined()
    }
  })

  test('with any byte changed it is accepted or refused, and nothing else happens', async () => {
    let refusals = 0
    for (let at = 0; at < bytes.length; at += 3) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ (1 + (at % 255))
      if ((await look(changed)) !== undefined) refusals += 1
    }
    expect(refusals).toBeGreaterThan(0)
  })

  test('the inner streams can be read any number of times', async () => {
    const file = await samples.spool(folder, 'inner', bytes)
    for (let round = 0; round < 2; round++) {
      const seen: Buffer[] = []
      for await (const { open } of format.inner(file)) {
        const first = await drain(open())
        expect((await drain(open())).equals(first)).toBe(true)
        seen.push(first)
      }
      expect(Buffer.concat(seen).includes(MARK)).toBe(true)
    }
  })

  test('what inspecting it kept is what its inner streams hold', async () => {
    const file = await samples.spool(folder, 'kept', bytes)
    const unpacked = createUnpackedCopies(folder)()
    await format.inspect(file, signal, unpacked)
    let fromCopies = 0
    const read: typeof unpacked.read = part => {
      const copy = unpacked.read(part)
      if (copy !== undefined) fromCopies += 1
      return copy
    }
    const all = async (streams: AsyncIterable<InnerStream>): Promise<Record<string, string>> => {
      const found: Record<string, string> = {}
      for await (const { name, open } of streams) found[name] = (await drain(open())).toString('latin1')
      return found
    }
    expect(await all(format.inner(file, { read }))).toEqual(await all(format.inner(file)))
    expect(fromCopies).toBeGreaterThan(0)
    await unpacked.close()
  })

  test('the inner streams of a cut-off package fail instead of ending early', async () => {
    const file = await samples.spool(folder, 'inner-cut', bytes.subarray(0, bytes.length - 20))
    const all = async (): Promise<void> => {
      for await (const { open } of format.inner(file)) await drain(open())
    }
    await expect(all()).rejects.toMatchObject({ code: 'bad_package' })
  })

  test('an aborted inspection ends with the given reason', async () => {
    const file = await samples.spool(folder, 'abort', bytes)
    await expect(format.inspect(file, AbortSignal.abort(new Error('the client has gone')))).rejects.toThrow(
      'the client has gone',
    )
  })

  test('however long a machine takes, a package is not refused for it', async () => {
    const file = await samples.spool(folder, 'slow', bytes)
    let hours = 0
    const clocks = [vi.spyOn(performance, 'now'), vi.spyOn(Date, 'now')]
    for (const clock of clocks) clock.mockImplementation(() => (hours += 1) * 3_600_000)
    try {
      const { identity: found } = await format.inspect(file, signal)
      expect(found).toEqual(identity)
      for await (const { open } of format.inner(file)) await drain(open())
    } finally {
      for (const clock of clocks) clock.mockRestore()
    }
  })

  test('no file stays open, whatever the result', async () => {
    const before = (await readdir('/proc/self/fd').catch(() => [])).length
    for (const length of [0, 10, bytes.length >> 1, bytes.length]) await look(bytes.subarray(0, length))
    expect((await readdir('/proc/self/fd').catch(() => [])).length).toBeLessThanOrEqual(before)
  })
}

/**
 * Tests what the rest of the server relies on in any format. Test-only: called from each format's `contract.test.ts`.
 */
export function testFormatContract(samples: ContractSamples): void {
  describe(`the contract of a format: ${samples.format.label}`, () => {
    testNames(samples)
    testVersions(samples)
    testBytes(samples)
  })
}
