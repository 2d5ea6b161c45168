import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProgram, mustRun } from '../test/support/tools.ts'
import { settleVmdk, writeOva } from './ova.ts'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe.skipIf(findProgram('qemu-img') === undefined)('an OVA (needs qemu-utils)', () => {
  let work: string
  beforeEach(async () => {
    work = await mkdtemp(join(tmpdir(), 'gatehouse-ova-'))
    await writeFile(join(work, 'disk.raw'), Buffer.alloc(3 << 20, 'gatehouse'))
  })
  afterEach(() => rm(work, { recursive: true }))

  async function build(again: string): Promise<string> {
    const [raw, vmdk, out] = ['disk.raw', `${again}.vmdk`, `${again}.ova`].map(name => join(work, name)) as [
      string,
      string,
      string,
    ]
    await mustRun('qemu-img', ['convert', '-O', 'vmdk', '-o', 'subformat=streamOptimized', raw, vmdk])
    settleVmdk(vmdk, 'gatehouse-1.2.3')
    const about = { name: 'gatehouse', version: '1.2.3', capacity: 3 << 20, size: (await stat(vmdk)).size }
    await writeOva({ ...about, vmdk, work: join(work, again), out, date: 1_700_000_000 })
    return out
  }

  test('begins with its description, holds its digests, and a disk that qemu reads', async () => {
    const out = await build('one')
    expect((await mustRun('tar', ['-tf', out])).trim().split('\n')).toEqual([
      'gatehouse.ovf',
      'gatehouse.mf',
      'gatehouse-disk1.vmdk',
    ])
    await mustRun('tar', ['-C', work, '-xf', out])
    const lines = (await readFile(join(work, 'gatehouse.mf'), 'utf8')).trim().split('\n')
    for (const line of lines) {
      const [, file = '', digest] = /^SHA256\((.+)\)= ([0-9a-f]{64})$/.exec(line) ?? []
      expect(sha256(await readFile(join(work, file)))).toBe(digest)
    }
    expect(lines).toHaveLength(2)
    const same = await mustRun('qemu-img', [
      'compare',
      '-f',
      'raw',
      '-F',
      'vmdk',
      join(work, 'disk.raw'),
      join(work, 'gatehouse-disk1.vmdk'),
    ])
    expect(same).toContain('Images are identical')
    expect(await readFile(join(work, 'gatehouse.ovf'), 'utf8')).toContain(
      `ovf:size="${(await stat(join(work, 'gatehouse-disk1.vmdk'))).size}"`,
    )
  })

  test('is the same each time', async () => {
    const [one, two] = await Promise.all([build('one'), build('two')])
    expect(sha256(await readFile(one))).toBe(sha256(await readFile(two)))
  })
})
