import { readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isAlive, processFacts } from '../lib/process.ts'

/** Who runs on a folder. `begun` tells a process from another one that got its number later; empty where there is no /proc. */
interface Holder { readonly pid: number; readonly host: string; readonly begun: string }

/** A process of another machine cannot be asked, and a container is another machine after each start: it is believed to be gone. */
async function isRunning({ pid, host, begun }: Holder): Promise<boolean> {
  if (host !== hostname() || pid === process.pid || !isAlive(pid)) return false
  const now = await processFacts(pid)
  return begun === '' || now?.begun === begun && !now.defunct
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const { pid, host, begun } = JSON.parse(await readFile(path, 'utf8')) as Partial<Holder>
    return typeof pid === 'number' && typeof host === 'string' && typeof begun === 'string' ? { pid, host, begun } : undefined
  } catch {
    return undefined // half written by who was killed then
  }
}

/**
 * Takes a REPOS_ROOT for this process: two daemons on one would empty each other's `incoming/` and repair each other's trees.
 * What a killed process left is taken over.
 * @returns gives it back
 * @throws naming the process that has it
 */
export async function lockRoot(root: string): Promise<() => Promise<void>> {
  const path = join(root, '.running')
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), begun: (await processFacts(process.pid))?.begun ?? '' } satisfies Holder)
  for (;;) {
    try {
      await writeFile(path, mine, { flag: 'wx', mode: 0o640 })
      return () => rm(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = await readHolder(path)
    if (holder !== undefined && await isRunning(holder)) {
      throw new Error(`REPOS_ROOT=${root} is in use by pid ${holder.pid}. Stop the other Gatehouse that runs on it first, or give this one its own.`)
    }
    await rm(path, { force: true })
  }
}
