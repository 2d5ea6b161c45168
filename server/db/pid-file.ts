import { readFile, readlink, realpath, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isAlive, processFacts } from '../lib/process.ts'

const FILE = 'postmaster.pid'

/**
 * A running PostgreSQL: its process, and the folder of its socket, which is empty until it listens. Source: PostgreSQL,
 * "Database File Layout".
 */
export interface Running {
  readonly pid: number
  readonly socket: string
}

/** The server that runs on `folder`; undefined when it has ended, also when another process has its number now. */
export async function findRunning(folder: string): Promise<Running | undefined> {
  const [number, , , , socket = ''] = (await readFile(join(folder, FILE), 'utf8').catch(() => '')).split('\n')
  const pid = Number(number)
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined
  const running = { pid, socket }
  const exe = await readlink(`/proc/${pid}/exe`).catch(() => undefined)
  // we may not read it, so believe it
  if (exe === undefined) return (await processFacts(pid))?.defunct === true ? undefined : running
  // a server works in its data folder; if another PostgreSQL got the number, it works in another folder
  return basename(exe).startsWith('postgres') &&
    (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === (await realpath(folder))
    ? running
    : undefined
}

/** The live Gatehouse that runs this PostgreSQL; undefined when its parent died and it is shutting down. */
async function findDaemon(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const parent = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0)
  const exe = await readlink(`/proc/${parent}/exe`).catch(() => '')
  return basename(exe).startsWith('node') ? parent : undefined
}

const GOING_MS = 15_000

/**
 * Removes the pid file of a dead server; waits for one that is shutting down. @throws when another one stays on the
 * folder
 */
export async function healPidFile(folder: string): Promise<void> {
  const deadline = Date.now() + GOING_MS
  for (;;) {
    const running = await findRunning(folder)
    if (running === undefined) return rm(join(folder, FILE), { force: true })
    const parent = await findDaemon(running.pid)
    if (parent !== undefined || Date.now() > deadline) {
      throw new Error(
        `${folder} is in use by pid ${parent ?? running.pid}. Stop the other Gatehouse that runs on this REPOS_ROOT first, or give this one its own.`,
      )
    }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
