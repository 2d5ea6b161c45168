import { mkdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { mustRun, run } from '../../support/tools.ts'
import type { Machine } from './machine.ts'

/** A disk of this computer in a file. */
export interface LoopDisk {
  readonly device: string
  /** The id of its file system. */
  readonly id: string
  close(): Promise<void>
}

export interface LoopDiskOptions {
  readonly label: string
  readonly megabytes: number
  /** A folder whose files it has. */
  readonly content?: string
}

/** A disk of ext4, as a device of this computer. @param file  where it is kept */
export async function createLoopDisk(file: string, { label, megabytes, content }: LoopDiskOptions): Promise<LoopDisk> {
  await writeFile(file, '')
  await truncate(file, megabytes * 1024 ** 2)
  const more = content === undefined ? [] : ['-d', content]
  await mustRun('mke2fs', ['-q', '-F', '-m', '0', '-t', 'ext4', '-L', label, ...more, file])
  const device = (await mustRun('losetup', ['-f', '--show', file])).trim()
  const id = (await mustRun('blkid', ['-p', '-o', 'value', '-s', 'UUID', device])).trim()
  return {
    device,
    id,
    close: async () => {
      await run('losetup', ['-d', device])
      await rm(file, { force: true })
    },
  }
}

/** Why no disk can be made in a file here; undefined where it can. */
export async function whyNoLoop(): Promise<string | undefined> {
  const { code } = await run('losetup', ['-f']).catch(() => ({ code: 1 }))
  const kinds = await readFile('/proc/filesystems', 'utf8').catch(() => '')
  return code === 0 && /\bext4\b/.test(kinds) ? undefined : 'needs loop devices and ext4'
}

/**
 * Plugs a stick into a machine that has no udev: its device, and the unit that udev would start, without waiting for a
 * device unit.
 */
export async function plugIn(machine: Machine, { device }: LoopDisk): Promise<{ readonly unit: string }> {
  const { rdev } = await stat(device)
  const [major, minor] = [rdev >> 8, rdev & 255].map(String)
  await machine.must('mknod', device, 'b', major ?? '', minor ?? '')
  const unit = 'gatehouse-medium@.service'
  await machine.must(
    'sh',
    '-c',
    `sed '/^BindsTo=/d; s/^After=dev-%i.device /After=/' /usr/lib/systemd/system/${unit} >/run/systemd/system/${unit} && systemctl daemon-reload`,
  )
  const instance = unit.replace('@', `@${basename(device)}`)
  await machine.must('systemctl', 'start', instance)
  return { unit: instance }
}

/** Files in a folder, for a stick. */
export async function folderOf(folder: string, files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  await mkdir(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  return folder
}
