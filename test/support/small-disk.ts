import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './tools.ts'

/** A disk of its own, of so many MB; undefined where this process may not mount one. */
export async function mountSmallDisk(sizeMb: number): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'gh-full-'))
  const options = ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'gatehouse', folder]
  const { code } = await run('mount', options, {}).catch(() => ({ code: 1 }))
  if (code === 0) return folder
  await rm(folder, { recursive: true })
  return undefined
}

export async function unmountSmallDisk(folder: string): Promise<void> {
  await run('umount', ['-l', folder], {})
  await rm(folder, { recursive: true, force: true })
}
