import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildDeb, spoolBytes, type FileSpec } from '../../test/support/packages.ts'
import { createUnpackedCopies } from '../files/unpacked.ts'
import { deb } from '../formats/deb/index.ts'
import { createReading, type Read } from './reading.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-reading-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const idle = new AbortController().signal
const program = join(import.meta.dirname, '..', '..', 'test', 'support', 'broken-readers-worker.ts')
const reading = createReading({ incoming: '', cpuSeconds: () => 120 })
// half a second passes from look to look
const broken = createReading({
  incoming: '',
  cpuSeconds: () => 120,
  threadLimits: { memoryMb: 96, cpuSeconds: 2 },
  program,
})

async function packed(files: Readonly<Record<string, FileSpec>>): Promise<Read> {
  const bytes = await buildDeb({ name: 'app', version: '1.0', compression: 'gz', files })
  return { format: 'deb', file: await spoolBytes(folder, 'app.deb', bytes) }
}
const requirements = (name: string): Record<string, string> => ({ [`opt/${name}/requirements.txt`]: `${name}==1.0\n` })

test('a file that makes its reader hang, take all memory or break is named, and the rest is read', async () => {
  const { components, unopened, cut } = await broken(
    await packed({
      ...requirements('a'),
      'opt/b/hang': 'x',
      'opt/c/hog': 'xx',
      'opt/d/break': 'xxx',
      ...requirements('e'),
    }),
    idle,
  )
  expect(components.map(({ purl }) => purl)).toEqual(['pkg:pypi/a@1.0', 'pkg:pypi/e@1.0'])
  expect(unopened).toEqual([
    { path: 'opt/b/hang', size: 1, why: 'To read it takes more than 2 s of processor time.' },
    { path: 'opt/c/hog', size: 2, why: 'To read it takes more than 96 MB of memory.' },
    { path: 'opt/d/break', size: 3, why: 'Its reader broke: nobody catches this.' },
  ])
  expect(cut).toBeUndefined()
})

test('reading ends where one file after the other breaks it, and what was found until then counts', async () => {
  const files = Object.fromEntries([1, 2, 3, 4, 5].map(n => [`opt/b${n}/break`, 'x']))
  const { components, unopened, cut } = await broken(
    await packed({ ...requirements('a'), ...files, ...requirements('z') }),
    idle,
  )
  expect(components.map(({ purl }) => purl)).toEqual(['pkg:pypi/a@1.0'])
  expect(unopened.map(({ path }) => path)).toEqual(['opt/b1/break', 'opt/b2/break', 'opt/b3/break'])
  expect(cut).toBe('Reading it ended at opt/b4/break (1 bytes), after several files that broke it.')
})

test('while one package hangs its thread, another is read', async () => {
  const hanging = broken(await packed({ 'opt/b/hang': 'x' }), idle)
  const order: string[] = []
  await Promise.all([
    hanging.then(() => order.push('hanging')),
    reading(await packed(requirements('a')), idle).then(() => order.push('other')),
  ])
  expect(order).toEqual(['other', 'hanging'])
})

test('whoever stops waiting ends the thread, and the next package is read', async () => {
  const stopping = new AbortController()
  const hanging = broken(await packed({ 'opt/b/hang': 'x' }), stopping.signal)
  stopping.abort(new Error('the sender has gone'))
  await expect(hanging).rejects.toThrow('the sender has gone')
  expect((await broken(await packed(requirements('a')), idle)).components).toHaveLength(1)
})

test('a package that spends its processor time is cut there, with the reason', async () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`opt/${n}/file`, 'x']))
  const { components, unopened, cut, again } = await createReading({ incoming: folder, cpuSeconds: () => 0 })(
    await packed({ ...many, ...requirements('a') }),
    idle,
  )
  expect({ components, unopened, cut, again }).toEqual({
    components: [],
    unopened: [],
    cut: 'To read the package takes more than 0 s of processor time; the rest was not read.',
    again: { cpuSeconds: 0 },
  })
})

test.each([
  ['in this thread', 1],
  ['in memory', 300 * 2 ** 10],
  ['on disk', 3 * 2 ** 20],
])('what was unpacked before is not unpacked again: %s', async (_, size) => {
  const read = await packed({ ...requirements('a'), 'opt/zeros': randomBytes(size) })
  const unpacked = createUnpackedCopies(folder)()
  await deb.inspect(read.file, idle, unpacked)
  const { parts } = unpacked.copies()
  expect(parts.map(({ what }) => what)).toEqual(['control.tar.gz', 'data.tar.gz'])
  // what is packed in the file is now damaged
  const bytes = await readFile(read.file.path)
  await writeFile(read.file.path, bytes.fill(0, bytes.length - 120, bytes.length - 20))
  const { bytes: _held, ...file } = read.file
  const { components, cut } = await reading({ ...read, file, unpacked }, idle)
  expect([components.map(({ purl }) => purl), cut]).toEqual([['pkg:pypi/a@1.0'], undefined])
  await unpacked.close()
  expect((await reading({ ...read, file }, idle)).cut).toContain('data.tar.gz is damaged or cut off')
})

test('a component that another file names certainly is not named by its folder, too', async () => {
  const specification = 'Gem::Specification.new do |s|\n  s.name = "rack".freeze\n  s.version = "2.2.3"\nend\n'
  const { components } = await reading(
    await packed({
      'opt/a/gems/rack-2.2.3/lib/rack.rb': 'module Rack; end',
      'opt/a/gems/rack-2.2.3/lib/rackup.rb': 'module Rackup; end',
      'opt/a/specifications/rack-2.2.3.gemspec': specification,
      'opt/b/gems/json-2.6.1/lib/json.rb': 'module JSON; end',
      'opt/b/gems/json-2.6.1/lib/json_pure.rb': 'module JSON; end',
      'opt/c/gems/date-3.2.2/lib/date.rb': 'class Date; end',
      'opt/c/specifications/default/date-3.2.2.gemspec': specification
        .replace('rack', 'date')
        .replace('2.2.3', '3.2.2'),
    }),
    idle,
  )
  expect(components.map(({ purl, path, confidence }) => [purl, path, confidence])).toEqual([
    ['pkg:gem/date@3.2.2', 'opt/c/specifications/default/date-3.2.2.gemspec', 'certain'],
    ['pkg:gem/json@2.6.1', 'opt/b/gems/json-2.6.1', 'probable'],
    ['pkg:gem/rack@2.2.3', 'opt/a/specifications/rack-2.2.3.gemspec', 'certain'],
  ])
})
