import { open } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProgram, mustRun, run, type Ran } from '../test/support/tools.ts'

const MEDIUM = join(import.meta.dirname, 'root/usr/lib/gatehouse/medium')
const mayMount =
  process.getuid?.() === 0 &&
  ['losetup', 'mke2fs', 'findmnt', 'blkid'].every(name => findProgram(name) !== undefined) &&
  spawnSync('losetup', ['-f']).status === 0 &&
  /\bext4\b/.test(spawnSync('cat', ['/proc/filesystems'], { encoding: 'utf8' }).stdout)

/** A stick as udev would name it: a loop device of an image that begins at an offset, as that of a partition does. */
interface Stick {
  readonly device: string
  pull(): Promise<void>
}

describe.skipIf(!mayMount)('a stick of ext4 (needs root, losetup and e2fsprogs)', () => {
  let folder: string
  let sticks: Stick[]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-medium-'))
    sticks = []
  })
  afterEach(async () => {
    for (const { device } of sticks) await medium('detach', device)
    for (const { pull } of sticks) await pull()
    await rm(folder, { recursive: true })
  })

  const media = (): string => join(folder, 'media')
  const medium = (...args: string[]): Promise<Ran> =>
    run(MEDIUM, args, { env: { GATEHOUSE_MEDIA: media(), GATEHOUSE_READER: 'nobody' } })
  const mounts = async (): Promise<string[]> =>
    (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter(line => line.includes(media()))
  const idOf = async (device: string): Promise<string> =>
    (await mustRun('blkid', ['-p', '-o', 'value', '-s', 'UUID', device])).trim()

  async function stick(label: string, { offset = 1_048_576, uuid = '' } = {}): Promise<Stick> {
    const n = sticks.length
    const image = join(folder, `${n}.img`)
    const content = join(folder, `content-${n}`)
    await mkdir(content)
    await writeFile(join(content, 'x.bundle.tar'), `of ${n}`)
    await chmod(join(content, 'x.bundle.tar'), 0o644)
    await writeFile(image, '')
    await truncate(image, offset + 8 * 1024 ** 2)
    await mustRun('mke2fs', [
      ...['-q', '-F', '-t', 'ext4', '-L', label, '-d', content, '-E', `offset=${offset}`],
      ...(uuid === '' ? [] : ['-U', uuid]),
      ...[image, '8M'],
    ])
    const device = (await mustRun('losetup', ['-f', '--show', '-o', String(offset), image])).trim()
    const made = { device, pull: async () => void (await run('losetup', ['-d', device])) }
    sticks.push(made)
    return made
  }

  test('is mounted for reading alone, below the id of its file system', async () => {
    const { device } = await stick('GATEHOUSE-1')
    const id = await idOf(device)
    expect(await medium('attach', device)).toEqual({
      code: 0,
      out: `GATEHOUSE-1 (ext4, ${device}) is mounted at ${media()}/${id}.\n`,
      err: '',
    })
    const [mount = ''] = await mounts()
    const options = mount.split(' ')[3]?.split(',')
    expect(options).toEqual(expect.arrayContaining(['ro', 'nosuid', 'nodev', 'noexec']))
    expect(await readFile(join(media(), id, 'x.bundle.tar'), 'utf8')).toBe('of 0')
    await expect(writeFile(join(media(), id, 'y'), '')).rejects.toThrow('EROFS')
    expect(await readFile(join(media(), '.state', device.slice(5)), 'utf8')).toBe(
      `id=${id}\nlabel=GATEHOUSE-1\nfile_system=ext4\ndevice=${device}\npath=${media()}/${id}\n`,
    )
  })

  test('two with one label are two, and one that goes leaves the other', async () => {
    const [a, b] = [await stick('GATEHOUSE'), await stick('GATEHOUSE')]
    for (const { device } of [a, b]) expect((await medium('attach', device)).code).toBe(0)
    expect(await mounts()).toHaveLength(2)
    const [idA, idB] = [await idOf(a.device), await idOf(b.device)]
    await mkdir(join(media(), '.catalogue'), { recursive: true })
    for (const id of [idA, idB]) await writeFile(join(media(), '.catalogue', `${id}.json`), '{}')
    expect((await medium('detach', a.device)).code).toBe(0)
    expect((await readdir(media())).filter(name => !name.startsWith('.'))).toEqual([idB])
    expect(await readdir(join(media(), '.catalogue'))).toEqual([`${idB}.json`])
    expect(await mounts()).toHaveLength(1)
  })

  test('a copy of a stick that is in is not mounted over it, and takes nothing away when it goes', async () => {
    const uuid = '0d9b3c1e-5b53-4c5e-9d0a-6a1d3b0f7c11'
    const [a, b] = [await stick('GATEHOUSE', { uuid }), await stick('GATEHOUSE', { uuid })]
    await medium('attach', a.device)
    expect(await medium('attach', b.device)).toMatchObject({
      code: 0,
      out: `${b.device} shows the same file system as ${a.device}, which is mounted.\n`,
    })
    expect((await medium('detach', b.device)).code).toBe(0)
    expect(await readFile(join(media(), uuid, 'x.bundle.tar'), 'utf8')).toBe('of 0')
  })

  test('one that goes while somebody reads leaves no mount behind', async () => {
    const { device } = await stick('GATEHOUSE')
    const id = await idOf(device)
    await medium('attach', device)
    const reader = await open(join(media(), id, 'x.bundle.tar'))
    try {
      expect(await medium('detach', device)).toEqual({ code: 0, out: '', err: '' })
      expect(await mounts()).toEqual([])
      expect(existsSync(join(media(), id))).toBe(false)
    } finally {
      await reader.close()
    }
  })

  test('one that went without a word is mounted anew', async () => {
    const { device } = await stick('GATEHOUSE')
    for (let n = 0; n < 2; n++) expect((await medium('attach', device)).code).toBe(0)
    expect(await mounts()).toHaveLength(1)
  })

  test('what has another label is not touched', async () => {
    const { device } = await stick('HOLIDAY')
    expect(await medium('attach', device)).toEqual({
      code: 1,
      out: '',
      err: `medium: ${device} is labelled 'HOLIDAY'; only media whose label begins with GATEHOUSE are read.\n`,
    })
    expect(await mounts()).toEqual([])
  })

  test('a label with characters that nobody sees is shown without them', async () => {
    const { device } = await stick('GATEHOUSE\n\u001b[2J')
    expect((await medium('attach', device)).out).toContain('GATEHOUSE[2J (ext4')
  })

  test('one that is damaged leaves no folder', async () => {
    const { device } = await stick('GATEHOUSE')
    const image = await open(device, 'r+')
    // the group descriptors; the superblock, with its label, is whole
    await image.write(Buffer.alloc(4_096, 0xff), 0, 4_096, 2_048)
    await image.close()
    expect(await medium('attach', device)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`medium: ${device} cannot be mounted: is the stick whole?`),
    })
    expect((await readdir(media())).filter(name => !name.startsWith('.'))).toEqual([])
    expect(await readdir(join(media(), '.state'))).toEqual([])
  })

  test('without a device the usage is said', async () => {
    expect(await medium('attach')).toMatchObject({ code: 64, err: 'usage: medium attach | detach DEVICE\n' })
  })
})
