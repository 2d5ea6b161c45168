import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isRefusal } from '../../server/core/errors.ts'
import type { SpooledFile } from '../../server/files/spool.ts'
import type { Format, Inspection } from '../../server/formats/format.ts'
import { spoolBytes } from './packages.ts'

/** A package that must be refused, and the message of the refusal. */
export interface MalformedPackage {
  readonly name: string
  readonly bytes: Buffer
  readonly why: RegExp
}
/** An unusual valid package, and its files. */
export interface OddPackage {
  readonly name: string
  readonly bytes: Buffer
  readonly files: readonly string[]
}

/** How many files this process has open. */
export const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length

/** The inner streams of a package, each as a whole. */
export async function readStreams(inner: Format['inner'], file: SpooledFile): Promise<Record<string, Buffer>> {
  const streams: Record<string, Buffer> = {}
  for await (const { name, open } of inner(file)) {
    const chunks: Buffer[] = []
    for await (const chunk of open()) chunks.push(chunk)
    streams[name] = Buffer.concat(chunks)
  }
  return streams
}

/** Aborts an inspection that has begun: it must stop and close the file. */
export async function expectAbortToClose(inspect: Format['inspect'], file: SpooledFile): Promise<void> {
  const before = await openFiles()
  const controller = new AbortController()
  const looking = inspect(file, controller.signal)
  controller.abort(new Error('enough'))
  await expect(looking).rejects.toThrow('enough')
  expect(await openFiles()).toBeLessThanOrEqual(before)
}

/** Reads the beginning of each inner stream only: the file must be closed then. */
export async function expectEarlyEndToClose(inner: Format['inner'], file: SpooledFile): Promise<void> {
  const before = await openFiles()
  for await (const { open } of inner(file)) {
    for await (const chunk of open()) if (chunk.length > 0) break
  }
  expect(await openFiles()).toBeLessThanOrEqual(before)
}

/** The samples that a format's test passes in. */
export interface MalformedSamples<Facts> {
  readonly inspect: Format<Facts>['inspect']
  readonly malformed: readonly MalformedPackage[]
  readonly odd: readonly OddPackage[]
  /** Looks at what was found in an odd package. */
  proveOdd(found: Inspection<Facts>, bytes: Buffer): void
}

/** Tests what every format promises about malformed packages. */
export function malformedSuite<Facts>({ inspect, malformed, odd, proveOdd }: MalformedSamples<Facts>): void {
  const { signal } = new AbortController()
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-malformed-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function whyOf(bytes: Buffer): Promise<string> {
    const file = await spoolBytes(folder, 'x', bytes)
    try {
      await inspect(file, signal)
      return 'it was accepted'
    } catch (error) {
      if (!isRefusal(error, 'bad_package')) throw error
      return String(error.facts['why'])
    } finally {
      await file.discard()
    }
  }

  describe('a malformed package is refused and the reason names thing and rule', () => {
    test.each(malformed.map(({ name, bytes, why }) => [name, bytes, why] as const))('%s', async (_, bytes, why) => {
      expect(await whyOf(bytes)).toMatch(why)
    })

    test('there are more than 100 different ones', () => {
      expect(new Set(malformed.map(({ name }) => name)).size).toBe(malformed.length)
      expect(malformed.length).toBeGreaterThan(100)
    })

    test('no refusal leaves a file open', async () => {
      const before = await openFiles()
      for (const { bytes } of malformed.filter(({ bytes }) => bytes.length < 10_000)) await whyOf(bytes)
      expect(await openFiles()).toBeLessThanOrEqual(before)
    })
  })

  describe('an unusual package that its own tool reads is accepted', () => {
    test.each(odd.map(({ name, bytes, files }) => [name, bytes, files] as const))('%s', async (_, bytes, files) => {
      const file = await spoolBytes(folder, 'x', bytes)
      const found = await inspect(file, signal)
      expect(found.paths).toEqual(files)
      proveOdd(found, bytes)
      await file.discard()
    })
  })
}
