import { readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createChanges, NO_CHANGES, type Changes } from '../db/changes.ts'
import { openClient, type Db } from '../db/db.ts'
import { createLeadership, createSoleLeadership, type Leadership } from '../db/leadership.ts'
import { createRelay } from '../db/relay.ts'
import { createReplicas, type Replicas } from '../db/replicas.ts'
import { deadHere, forgetJoined } from '../files/joined-root.ts'
import type { Layout } from '../files/layout.ts'
import type { Log } from '../lib/log.ts'
import type { Shared } from '../lib/replica-memory.ts'

export interface Replication {
  /** The name of this process. */
  readonly instance: string
  readonly leadership: Leadership
  readonly changes: Changes
  /** Undefined where there is never a second process: with the embedded database. */
  readonly replicas: Replicas | undefined
}

/** What makes one installation of several processes. The embedded database belongs to the process that started it. */
export function composeReplication({
  instance,
  db,
  databaseUrl,
  version,
  log,
}: {
  readonly instance: string
  readonly db: Db
  readonly databaseUrl: string | undefined
  readonly version: string
  readonly log: Log
}): Replication {
  if (databaseUrl === undefined)
    return { instance, leadership: createSoleLeadership(), changes: NO_CHANGES, replicas: undefined }
  return {
    instance,
    leadership: createLeadership({ open: () => openClient({ url: databaseUrl }), db, instance, log }),
    changes: createChanges(db, error => log.warn({ err: error }, 'what other replicas changed is not known yet')),
    replicas: createReplicas(db, { id: instance, host: hostname(), version }, error =>
      log.warn({ err: error }, 'the database does not know that this replica is there'),
    ),
  }
}

/** Messages between replicas; of one process alone, none. */
export async function openRelay(
  { instance, changes, replicas }: Replication,
  { db, shared, log }: { readonly db: Db; readonly shared: Shared; readonly log: Log },
): Promise<Pick<Shared, 'tell' | 'hear'>> {
  if (replicas === undefined) return shared
  const onError = (error: unknown): void => log.warn({ err: error }, 'events did not get to the other replicas')
  return createRelay({ db, changes, shared, replicas, instance, onError })
}

/** Which database this is; copies of it have the same name. */
export async function installationOf(db: Db): Promise<string> {
  const row = await db.first<{ id: string }>('select id from installation')
  if (row === undefined) throw new Error('The database does not say which one it is: its table installation is empty.')
  return row.id
}

const DAY_MS = 86_400_000

/**
 * Removes what replicas that are gone left of uploads: their names begin with that of the process. Other names are of
 * scans that a kill cut short, and go after a day.
 */
export async function sweepUploads(
  { root, incoming }: Pick<Layout, 'root' | 'incoming'>,
  { instance, replicas }: { readonly instance: string; readonly replicas: Pick<Replicas, 'list'> },
): Promise<void> {
  const known = await replicas.list()
  const seen = new Set(known.filter(({ alive }) => alive).map(({ id }) => id))
  const dead = await deadHere(root)
  const isAlive = (id: string): boolean => id === instance || (seen.has(id) && !dead.has(id))
  for (const name of await readdir(incoming)) {
    const path = join(incoming, name)
    const [, owner] = /^([0-9a-f-]{36})\.[0-9a-f]{24}/.exec(name) ?? []
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now())
    if (owner === undefined ? age > DAY_MS : !isAlive(owner)) await rm(path, { recursive: true, force: true })
  }
  await forgetJoined(root, id => id !== instance && (dead.has(id) || known.every(one => one.id !== id)))
}
