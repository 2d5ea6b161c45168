import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { lackingTools } from '../../../appliance/lacking-tools.ts'
import { mustRun } from '../../support/tools.ts'
import { OVMF } from './machine.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The image that is booted; `lacking` says why that cannot be done here. */
    image: {
      readonly lacking?: string
      readonly qcow2: string
      /** The bundle that is in it. */
      readonly bundle: string
      /** The vendor's private key; empty where nobody gave it. */
      readonly key: string
      /** The files of its system, and of its data; empty where they cannot be taken out. */
      readonly files: string
      readonly work: string
    }
  }
}

const ROOT = join(import.meta.dirname, '../../..')
/** Program → the Debian package that has it. */
const NEEDED = {
  'qemu-system-x86_64': 'qemu-system-x86',
  'qemu-img': 'qemu-utils',
  'debugfs': 'e2fsprogs',
  'sfdisk': 'fdisk',
  'mcopy': 'mtools',
  'zstd': 'zstd',
}

/** Why no image is booted here; undefined where one is. */
function whyNot(out: string): string | undefined {
  const missing = [...lackingTools(NEEDED), ...(existsSync(OVMF.code) ? [] : ['ovmf'])]
  if (missing.length > 0) return `needs ${missing.join(', ')}`
  const isThere = existsSync(out) && readdirSync(out).some(file => file.endsWith('.qcow2'))
  return isThere ? undefined : `needs a .qcow2 in ${out}: npm run appliance -- --format qcow2`
}

const work = await mkdtemp(join(tmpdir(), 'gatehouse-image-test-'))

/** Takes the files of the image out, without root and without mounting it. */
async function takeOut(qcow2: string): Promise<string> {
  const [raw, files] = [join(work, 'disk.raw'), join(work, 'files')]
  await mustRun('qemu-img', ['convert', '-O', 'raw', qcow2, raw])
  const table = JSON.parse(await mustRun('sfdisk', ['--json', raw])) as {
    partitiontable: { partitions: { name: string; start: number }[] }
  }
  const { partitions } = table.partitiontable
  await mustRun('mkdir', ['-p', files])
  for (const { name, start } of partitions.filter(part => /^(root-a|data)$/.test(part.name))) {
    await mustRun('mkdir', [join(files, name)])
    await mustRun('debugfs', ['-R', `rdump / ${join(files, name)}`, `${raw}?offset=${start * 512}`])
  }
  const boot = partitions.find(({ name }) => name === 'esp')?.start ?? 0
  await writeFile(join(files, 'esp'), await mustRun('mdir', ['-/', '-b', '-i', `${raw}@@${boot * 512}`, '::/']))
  await rm(raw)
  return files
}

export async function setup(project: TestProject): Promise<void> {
  const out = process.env.APPLIANCE_OUT ?? join(ROOT, 'dist', 'appliance')
  const lacking = whyNot(out)
  const find = (pattern: RegExp): string => {
    const name = readdirSync(out).find(file => pattern.test(file))
    return name === undefined ? '' : join(out, name)
  }
  const base = { key: process.env.APPLIANCE_KEY ?? '', work }
  if (lacking !== undefined) return project.provide('image', { ...base, lacking, qcow2: '', bundle: '', files: '' })
  const qcow2 = find(/\.qcow2$/)
  project.provide('image', { ...base, qcow2, bundle: find(/-linux-x64\.tar\.zst$/), files: await takeOut(qcow2) })
}

export const teardown = (): Promise<void> => rm(work, { recursive: true, force: true })
