import { createHash, randomBytes } from 'node:crypto'
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { beat, isRunning, parseHolder, selfAsHolder, WATCH_MS } from './holder.ts'
import { refuseJoined } from './joined-root.ts'

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
async function take(
  path: string,
  mine: string,
  { watchMs, whenRunning }: { readonly watchMs: number; readonly whenRunning: (pid: number) => Promise<void> },
): Promise<void> {
  while (!(await linked(mine, path))) {
    const read = (): Promise<string | undefined> =>
      readFile(path, 'utf8').catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined
        throw error
      })
    const text = await read()
    if (text === undefined) continue
    const holder = parseHolder(text)
    if (holder !== undefined && (await isRunning(path, holder, watchMs))) {
      await whenRunning(holder.pid)
      continue
    }
    const right = `${path}.${createHash('sha256').update(text).digest('hex').slice(0, 12)}`
    // whoever has it is done in a moment
    await take(right, mine, { watchMs, whenRunning: () => setTimeout(TAKING_MS) })
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
 * @param watchMs  how long a lock that another machine left is watched before it is taken over
 * @returns a function that gives it back
 * @throws naming the process that has it
 */
export async function lockRoot(
  root: string,
  wayOut = 'Stop the other Gatehouse that runs on it first, or give this one its own.',
  watchMs = WATCH_MS,
): Promise<() => Promise<void>> {
  const path = join(root, '.running')
  const mine = join(root, `.start-${randomBytes(6).toString('hex')}`)
  const refuse = (pid: number): Promise<never> =>
    Promise.reject(new Error(`REPOS_ROOT=${root} is in use by pid ${pid}. ${wayOut}`))
  await refuseJoined(root, undefined, { wayOut, watchMs })
  await writeFile(mine, JSON.stringify(await selfAsHolder()), { flag: 'wx', mode: 0o640 })
  try {
    await take(path, mine, { watchMs, whenRunning: refuse })
  } finally {
    await rm(mine, { force: true })
  }
  // rights to replace that killed processes left: what they were named after is gone
  for (const name of await readdir(root))
    if (/^\.running(\.[0-9a-f]{12})+$/.test(name)) await rm(join(root, name), { force: true })
  const still = beat(path)
  return async () => {
    still()
    await rm(path, { force: true })
  }
}
