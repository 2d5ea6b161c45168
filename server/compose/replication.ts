import { readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { createChanges, NO_CHANGES, type Changes } from '../db/changes.ts'
import { openClient, type Db } from '../db/db.ts'
import { createLeadership, createSoleLeadership, type Leadership } from '../db/leadership.ts'
import { createReplicas, type Replicas } from '../db/replicas.ts'
import type { Layout } from '../files/layout.ts'
import type { Log } from '../lib/log.ts'

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

/** Which database this is; copies of it have the same name. */
export async function installationOf(db: Db): Promise<string> {
  const row = await db.first<{ id: string }>('select id from installation')
  if (row === undefined) throw new Error('The database does not say which one it is: its table installation is empty.')
  return row.id
}

/** Removes the uploads of replicas that are gone. For the leader. */
export async function sweepUploads(
  { incoming }: Pick<Layout, 'incoming'>,
  replicas: Pick<Replicas, 'list'>,
): Promise<void> {
  const alive = new Set((await replicas.list()).filter(one => one.alive).map(one => one.id))
  const folder = dirname(incoming)
  for (const name of await readdir(folder))
    if (!alive.has(name)) await rm(join(folder, name), { recursive: true, force: true })
}
