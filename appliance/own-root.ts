import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** A root of its own over another one, which stays as it is. */
export interface OwnRoot {
  readonly folder: string
  /** Ends all changes. @returns its layers, for roots over it */
  freeze(): string
  close(): void
}

/**
 * @param layers  one folder, or those that `freeze` gave
 * @param work  a folder that is made for it, and removed with it
 */
export function layOver(layers: string, work: string): OwnRoot {
  const folder = join(work, 'root')
  const upper = join(work, 'upper')
  for (const name of ['root', 'upper', 'work']) mkdirSync(join(work, name), { recursive: true })
  const options = `lowerdir=${layers},upperdir=${upper},workdir=${join(work, 'work')}`
  const isLaid = spawnSync('mount', ['-t', 'overlay', 'overlay', '-o', options, folder]).status === 0
  // no overlay over an overlay: a container's own disk is one. Then there is one layer alone, a copy of it
  if (!isLaid) execFileSync('cp', ['-a', '--reflink=auto', `${layers}/.`, folder])
  const unlay = (): void => void spawnSync('umount', ['--recursive', folder])
  return {
    folder,
    freeze() {
      if (!isLaid) return folder
      unlay()
      return `${upper}:${layers}`
    },
    close() {
      unlay()
      rmSync(work, { recursive: true, force: true })
    },
  }
}

/** The words that run a program in a root: without a network, and with nothing of this computer's processes. */
export const insideOf = (folder: string, command: readonly string[]): readonly [string, readonly string[]] => [
  'unshare',
  [
    ...['--mount', '--net', '--pid', '--fork', 'sh', '-c'],
    'mount -t proc proc "$1/proc" && cd / && root=$1 && shift && exec chroot "$root" "$@"',
    ...['sh', folder, ...command],
  ],
]
