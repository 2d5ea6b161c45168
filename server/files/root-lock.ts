import { createHash, randomBytes } from 'node:crypto'
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isAlive, processFacts } from '../lib/process.ts'

/**
 * The process that runs on a folder. `begun` tells it from a later process with the same number; empty where there is
 * no /proc.
 */
interface Holder {
  readonly pid: number
  readonly host: string
  readonly begun: string
}

/**
 * A process on another machine cannot be asked. A container is another machine after each start, so that process counts
 * as gone.
 */
async function isRunning({ pid, host, begun }: Holder): Promise<boolean> {
  if (host !== hostname() || pid === process.pid || !isAlive(pid)) return false
  const now = await processFacts(pid)
  return begun === '' || (now?.begun === begun && !now.defunct)
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, host, begun } = JSON.parse(text) as Partial<Holder>
    return typeof pid === 'number' && typeof host === 'string' && typeof begun === 'string'
      ? { pid, host, begun }
      : undefined
  } catch {
    return undefined // half written by a process that was killed
  }
}

const TAKING_MS = 5
const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** @returns false when there is one already. Readers always find it whole, unlike a file that is written in place */
async function linked(mine: string, path: string): Promise<boolean> {
  return link(mine, path).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    },
  )
}

/**
 * Makes `path` a link to `mine`. Replaces the link of a dead process by one rename. The right to replace is a lock of
 * its own, named after what is replaced, so that only one of several processes does it.
 * @param whenRunning  called when a live process has it; afterwards it is tried again
 */
async function take(path: string, mine: string, whenRunning: (pid: number) => Promise<void>): Promise<void> {
  while (!(await linked(mine, path))) {
    const read = (): Promise<string | undefined> =>
      readFile(path, 'utf8').catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined
        throw error
      })
    const text = await read()
    if (text === undefined) continue
    const holder = parseHolder(text)
    if (holder !== undefined && (await isRunning(holder))) {
      await whenRunning(holder.pid)
      continue
    }
    const right = `${path}.${createHash('sha256').update(text).digest('hex').slice(0, 12)}`
    await take(right, mine, () => setTimeout(TAKING_MS)) // whoever has it is done in a moment
    if ((await read()) === text) {
      const part = `${mine}.part`
      await link(mine, part)
      await rename(part, path)
      return rm(right, { force: true })
    }
    await rm(right, { force: true }) // another process was faster
  }
}

/**
 * Takes a REPOS_ROOT for this process: two daemons on one would empty each other's `incoming/` and repair each other's
 * trees. Takes over what a killed process left.
 * @param wayOut  what to do when another process has it
 * @returns a function that gives it back
 * @throws naming the process that has it
 */
export async function lockRoot(
  root: string,
  wayOut = 'Stop the other Gatehouse that runs on it first, or give this one its own.',
): Promise<() => Promise<void>> {
  const path = join(root, '.running')
  const mine = join(root, `.start-${randomBytes(6).toString('hex')}`)
  const refuse = (pid: number): Promise<never> =>
    Promise.reject(new Error(`REPOS_ROOT=${root} is in use by pid ${pid}. ${wayOut}`))
  await writeFile(
    mine,
    JSON.stringify({
      pid: process.pid,
      host: hostname(),
      begun: (await processFacts(process.pid))?.begun ?? '',
    } satisfies Holder),
    { flag: 'wx', mode: 0o640 },
  )
  try {
    await take(path, mine, refuse)
  } finally {
    await rm(mine, { force: true })
  }
  // rights to replace that killed processes left: what they were named after is gone
  for (const name of await readdir(root))
    if (/^\.running(\.[0-9a-f]{12})+$/.test(name)) await rm(join(root, name), { force: true })
  return () => rm(path, { force: true })
}
