import { readFile } from 'node:fs/promises'

/** What the kernel says about a process. */
export interface ProcessFacts {
  /** In ticks since boot: with its number this identifies a process, also after the number is used again. */
  readonly begun: string
  /** It ended, but its parent has not waited for it yet: it is still listed and does nothing. */
  readonly defunct: boolean
}

/**
 * Looks a process up; undefined when it has ended or without /proc. Source: proc_pid_stat(5), fields 3 and 22.
 */
export async function processFacts(pid: number): Promise<ProcessFacts | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return undefined
  // the name of the program stands in parentheses and may hold anything
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { begun: words[19] ?? '', defunct: /^[ZX]/.test(words[0] ?? '') }
}

/** Whether a process with this number exists, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
