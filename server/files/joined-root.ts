import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { beat, isRunning, readHolder, selfAsHolder, WATCH_MS, type Holder } from './holder.ts'

/** One file for each process of an installation that runs on a root. */
const folderOf = (root: string): string => join(root, '.replicas')

const printed = ({ pid, host }: Holder): string => `pid ${pid} on ${host}`

async function joined(root: string): Promise<{ readonly path: string; readonly holder: Holder }[]> {
  const folder = folderOf(root)
  const names = await readdir(folder).catch(() => [])
  const all = await Promise.all(
    names.map(async name => ({ path: join(folder, name), holder: await readHolder(join(folder, name)) })),
  )
  return all.flatMap(({ path, holder }) => (holder === undefined ? [] : [{ path, holder }]))
}

/**
 * Refuses a root that processes of another database run on. Removes the files of those that are gone.
 * @param installation  undefined: none may run on it
 * @throws Error naming the process that has it
 */
export async function refuseJoined(
  root: string,
  installation: string | undefined,
  { wayOut, watchMs = WATCH_MS }: { readonly wayOut: string; readonly watchMs?: number },
): Promise<void> {
  const others = (await joined(root)).filter(
    ({ holder }) => installation === undefined || holder.installation !== installation,
  )
  await Promise.all(
    others.map(async ({ path, holder }) => {
      if (await isRunning(path, holder, watchMs))
        throw new Error(`REPOS_ROOT=${root} is in use by ${printed(holder)}, with another database. ${wayOut}`)
      await rm(path, { force: true })
    }),
  )
}

/**
 * Runs on a root together with other processes of the same database.
 * @returns a function that leaves it
 * @throws Error naming a process of another database, or one that has it alone
 */
export async function joinRoot(
  root: string,
  {
    instance,
    installation,
    watchMs = WATCH_MS,
  }: { readonly instance: string; readonly installation: string; readonly watchMs?: number },
): Promise<() => Promise<void>> {
  const wayOut = 'Stop it first, or give this one a root of its own.'
  const alone = join(root, '.running')
  const holder = await readHolder(alone)
  if (holder !== undefined && (await isRunning(alone, holder, watchMs)))
    throw new Error(`REPOS_ROOT=${root} is in use by ${printed(holder)}, with a database of its own. ${wayOut}`)
  await refuseJoined(root, installation, { wayOut, watchMs })
  await mkdir(folderOf(root), { recursive: true, mode: 0o750 })
  const mine = join(folderOf(root), instance)
  await writeFile(mine, JSON.stringify(await selfAsHolder(installation)), { flag: 'wx', mode: 0o640 })
  const still = beat(mine)
  return async () => {
    still()
    await rm(mine, { force: true })
  }
}

/** Whether a process runs on a root together with others. */
export async function isJoined(root: string, watchMs = WATCH_MS): Promise<boolean> {
  const running = (await joined(root)).map(({ path, holder }) => isRunning(path, holder, watchMs))
  return (await Promise.all(running)).some(Boolean)
}

/** The processes of this machine that died on a root: their files are still there, and their numbers are not. */
export async function deadHere(root: string): Promise<ReadonlySet<string>> {
  const here = (await joined(root)).filter(({ holder }) => holder.host === hostname() && holder.pid !== process.pid)
  const dead = await Promise.all(here.map(async ({ path, holder }) => ((await isRunning(path, holder)) ? [] : [path])))
  return new Set(dead.flat().map(path => basename(path)))
}

/** Removes the files of processes that are gone. */
export async function forgetJoined(root: string, isGone: (instance: string) => boolean): Promise<void> {
  for (const { path } of await joined(root)) if (isGone(basename(path))) await rm(path, { force: true })
}
