import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spoolBytes } from '../../test/support/packages.ts'
import { findProgram, mustRun } from '../../test/support/tools.ts'
import { getFormat, recognise, FORMATS } from './index.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-sample-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const made = (id: 'deb' | 'rpm' | 'apk') => {
  const sample = getFormat(id).sample?.()
  if (sample === undefined) throw new Error(`no sample of ${id}`)
  return sample
}

test.each([
  ['deb', '1.0', 'all'],
  ['rpm', '1.0-1', 'noarch'],
  ['apk', '1.0-r0', 'noarch'],
] as const)('the sample of %s is read as any other package, and is the same each time', async (id, version, arch) => {
  const { filename, bytes } = made(id)
  expect(made(id).bytes.equals(bytes)).toBe(true)
  expect(recognise(bytes.subarray(0, 512), filename, FORMATS).id).toBe(id)
  const file = await spoolBytes(folder, filename, bytes)
  const { identity, paths } = await getFormat(id).inspect(file, AbortSignal.timeout(30_000))
  expect(identity).toEqual({ format: id, name: 'gatehouse-hello', version, arch })
  expect(paths).toContain('usr/bin/gatehouse-hello')
  expect(getFormat(id).complain(identity)).toBeUndefined()
})

test.skipIf(findProgram('dpkg-deb') === undefined)(
  'dpkg unpacks the sample, and its program says its line',
  async () => {
    const { filename, bytes } = made('deb')
    await writeFile(join(folder, filename), bytes)
    await mustRun('dpkg-deb', ['-x', join(folder, filename), join(folder, 'deb')])
    expect(await mustRun(join(folder, 'deb/usr/bin/gatehouse-hello'), [])).toContain('Packages of your Gatehouse')
  },
)

test.skipIf(findProgram('rpm') === undefined)('rpm finds the digests of the sample right, and its file', async () => {
  const { filename, bytes } = made('rpm')
  const path = join(folder, filename)
  await writeFile(path, bytes)
  expect(await mustRun('rpm', ['-K', '--nosignature', path])).toMatch(/digests OK/i)
  expect(await mustRun('rpm', ['-qpl', '--nosignature', path])).toBe('/usr/bin/gatehouse-hello\n')
})
