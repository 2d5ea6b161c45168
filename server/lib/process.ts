import { readFile } from 'node:fs/promises'

/** What the kernel tells of a process. */
export interface ProcessFacts {
  /** In ticks since the machine began: with its number it cannot be mistaken for a later process. */
  readonly begun: string
  /** It was killed and nobody has waited for it yet: it is listed on, and does nothing any more. */
  readonly defunct: boolean
}

/**
 * Asks about a process; undefined when it is gone, or where there is no /proc. Source: proc_pid_stat(5), fields 3 and
 * 22.
 */
export async function processFacts(pid: number): Promise<ProcessFacts | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return undefined
  // the name of the program stands in parentheses and may hold anything
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { begun: words[19] ?? '', defunct: /^[ZX]/.test(words[0] ?? '') }
}

/** Whether there is a process of this number, of whoever it is. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
