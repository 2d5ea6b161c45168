import { readdir, readFile } from 'node:fs/promises'

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

/** Ticks of the clock in a second, in what the kernel tells programs. Source: proc_pid_stat(5), sysconf(3). */
const TICKS = 100

/**
 * Seconds of the processor that a process group has used, with its children that ended; undefined when it has no
 * process any more or without /proc. Source: proc_pid_stat(5), fields 5 and 14 to 17.
 */
export async function cpuOfGroup(group: number): Promise<number | undefined> {
  const pids = (await readdir('/proc').catch(() => [])).filter(name => /^\d+$/.test(name))
  let ticks: number | undefined
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (words[2] !== String(group)) continue
    ticks = words.slice(11, 15).reduce((sum, word) => sum + Number(word), ticks ?? 0)
  }
  return ticks === undefined ? undefined : ticks / TICKS
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
