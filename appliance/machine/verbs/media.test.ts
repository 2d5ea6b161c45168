import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeCatalogue } from '../medium.ts'
import { CATALOGUES as BELOW } from '../../../server/machine/media.ts'
import { MEDIA, readMedia } from './media.ts'

const CATALOGUES = join(MEDIA, BELOW)

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gatehouse-media-'))
  await mkdir(join(root, CATALOGUES), { recursive: true })
})
afterEach(() => rm(root, { recursive: true }))

async function plug(id: string, label: string, files: readonly string[]): Promise<void> {
  const path = join(root, 'stick', id)
  await mkdir(path, { recursive: true })
  for (const name of files) await writeFile(join(path, name), 'x')
  const state = join(root, `state-${id}`)
  await writeFile(state, `id=${id}\nlabel=${label}\nfile_system=vfat\ndevice=/dev/${id.toLowerCase()}\npath=${path}\n`)
  await writeCatalogue(state, join(root, CATALOGUES))
}

test('two sticks with one label are two, each with what is on it', async () => {
  await plug('AAAA-0001', 'GATEHOUSE', ['x.bundle.tar'])
  await plug('BBBB-0002', 'GATEHOUSE', [])
  expect(await readMedia({ root })).toEqual([
    {
      id: 'AAAA-0001',
      label: 'GATEHOUSE',
      device: '/dev/aaaa-0001',
      file_system: 'vfat',
      size: expect.any(Number),
      path: join(root, 'stick/AAAA-0001'),
      files: [{ path: 'x.bundle.tar', kind: 'bundle', size: 1, modified_at: expect.any(String) }],
      said: '',
    },
    expect.objectContaining({ id: 'BBBB-0002', files: [], said: 'Nothing that is of use here is on it.' }),
  ])
  expect(await readdir(join(root, CATALOGUES))).toEqual(['AAAA-0001.json', 'BBBB-0002.json'])
})

test('a label with = in it stays whole', async () => {
  await plug('AAAA-0001', 'GATEHOUSE=A', [])
  expect(await readMedia({ root })).toMatchObject([{ label: 'GATEHOUSE=A' }])
})

test('a catalogue that is none is left out', async () => {
  await plug('AAAA-0001', 'GATEHOUSE', [])
  const at = join(root, CATALOGUES)
  const [whole = {}] = await readMedia({ root })
  await writeFile(join(at, 'half.json'), '{"id":')
  await writeFile(join(at, 'other.json'), JSON.stringify(whole)) // of another id
  await writeFile(join(at, 'long.json'), `"${'x'.repeat(1024 ** 2)}"`)
  await writeFile(join(at, 'new.new'), JSON.stringify(whole))
  expect((await readMedia({ root })).map(({ id }) => id)).toEqual(['AAAA-0001'])
})

test('where no stick ever was there are none', async () => {
  expect(await readMedia({ root: join(root, 'nowhere') })).toEqual([])
})
