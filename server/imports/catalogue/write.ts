import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { Db, Tx } from '../../db/db.ts'
import type { Source } from '../source.ts'
import { olderThan } from './newest.ts'
import { FILES, type ReadAnswer } from './read-entries.ts'
import { CAPABILITY_COLUMNS, MODULE_COLUMNS, PACKAGE_COLUMNS } from './rows.ts'
import { MOST_PACKAGES, recordSynced, type Held, type Synced } from './store.ts'

/** What a read found, to be written. */
export interface Found {
  readonly source: Source
  readonly held: Held | undefined
  readonly scope: string
  readonly answer: ReadAnswer
  readonly folder: string
  readonly firstId: number
  /** Packages that the catalogue holds, and that the source lists no more. */
  readonly gone: readonly number[]
  /** Entries that were left out as older versions, and are listed still. */
  readonly dropped: Buffer
  readonly synced: Omit<Synced, 'packages' | 'added' | 'removed' | 'sourceId'>
}

export interface Written {
  readonly packages: number
  readonly added: number
  readonly removed: number
}

/** One writes at a time: names are of several sources. */
const LOCK = 'import catalogue'

/** Notes the names of packages that go. @returns how many went */
async function remove(tx: Tx, ids: readonly number[]): Promise<number> {
  if (ids.length === 0) return 0
  await tx.query('delete from import_capability where package_id = any($1)', [ids])
  const row = await tx.first<{ n: number }>(
    `with gone as (delete from import_package where id = any($1) returning name),
    noted as (insert into import_touched select distinct name from gone)
    select count(*) as n from gone`,
    [ids],
  )
  return row?.n ?? 0
}

/** Adds the rows of the files. */
async function add(tx: Tx, { folder, firstId, answer }: Found): Promise<void> {
  if (answer.added === 0) return
  await tx.load(`copy import_package (${PACKAGE_COLUMNS}) from stdin`, createReadStream(join(folder, FILES.packages)))
  await tx.load(
    `copy import_capability (${CAPABILITY_COLUMNS}) from stdin`,
    createReadStream(join(folder, FILES.capabilities)),
  )
  await tx.query(
    `insert into import_touched select distinct name from import_package where id >= $1 and id < $1::bigint + $2`,
    [firstId, MOST_PACKAGES],
  )
}

/** Notes which packages belong to modules: that may change while the packages stay the same. */
async function noteModules(tx: Tx, { source, answer, folder }: Found): Promise<void> {
  if (!answer.hasModules) {
    await tx.query(
      'update import_package set module = null, hidden = false where source_id = $1 and module is not null',
      [source.id],
    )
    return
  }
  await tx.query(`create temp table import_module
    (name text, version text, arch text, module text, hidden boolean) on commit drop`)
  await tx.load(`copy import_module (${MODULE_COLUMNS}) from stdin`, createReadStream(join(folder, FILES.modules)))
  await tx.query('analyze import_module')
  await tx.query(
    `update import_package p set module = m.module, hidden = m.hidden from import_module m
    where p.source_id = $1 and (p.name, p.version, p.arch) = (m.name, m.version, m.arch)
      and (p.module, p.hidden) is distinct from (m.module, m.hidden)`,
    [source.id],
  )
  await tx.query(
    `update import_package p set module = null, hidden = false where p.source_id = $1 and p.module is not null
      and not exists (select from import_module m where (p.name, p.version, p.arch) = (m.name, m.version, m.arch))`,
    [source.id],
  )
}

/** Brings the table of names up to date for those that were noted. */
async function noteNames(tx: Tx, { source }: Found): Promise<void> {
  await tx.query('analyze import_touched')
  await tx.query(
    `with touched as (select distinct name from import_touched),
    live as (
      select p.name, array_agg(distinct p.source_id order by p.source_id) as sources,
        (array_agg(p.summary order by p.id desc))[1] as summary
      from touched join import_package p using (name) join import_source s on s.id = p.source_id and s.format = $1
      group by p.name),
    gone as (
      delete from import_name n using touched where n.format = $1 and n.name = touched.name
        and not exists (select from live where live.name = n.name))
    insert into import_name as n (format, name, summary, sources)
    select $1, name, summary, sources from live order by name
    on conflict (format, name) do update set summary = excluded.summary, sources = excluded.sources
    where (n.summary, n.sources) is distinct from (excluded.summary, excluded.sources)`,
    [source.format],
  )
}

/** Names that nobody asked for when other sources were read are asked for now: those are read again next time. */
const readOthersAgain = (tx: Tx, { source, answer }: Found): Promise<unknown> =>
  tx.query(
    `update import_held h set scope = '' from import_source s
    where s.id = h.source_id and s.format = $1 and s.id <> $2 and h.left_out
      and exists (select unnest($3::text[]) except select unnest(o.asked) from import_held o)`,
    [source.format, source.id, answer.asked],
  )

async function hold(tx: Tx, found: Found, { packages }: Written, dropped: Buffer): Promise<void> {
  const { source, scope, answer, synced } = found
  if (answer.asked.length > 0) await readOthersAgain(tx, found)
  await tx.query(
    `insert into import_held (source_id, sha256, scope, packages, held_at, asked, left_out, dropped)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (source_id) do update set sha256 = $2, scope = $3, packages = $4, held_at = $5, asked = $6,
      left_out = $7, dropped = $8`,
    [source.id, synced.sha256, scope, packages, synced.now, answer.asked, answer.leftOut, dropped],
  )
}

/** Keeps only the newest versions of each name, where the source says so. @returns the entries that went */
async function keepNewest(tx: Tx, { source }: Found): Promise<{ readonly removed: number; readonly entries: Buffer }> {
  if (source.newest === undefined) return { removed: 0, entries: Buffer.alloc(0) }
  const rows = await tx.query<{ id: number; name: string; arch: string; version: string; digest: Buffer }>(
    `select id, name, arch, version, digest from import_package where source_id = $1 and (name, arch) in (
      select name, arch from import_package where source_id = $1 group by name, arch having count(*) > $2)`,
    [source.id, source.newest],
  )
  const old = olderThan(rows, source)
  return {
    removed: await remove(
      tx,
      old.map(({ id }) => id),
    ),
    entries: Buffer.concat(old.map(({ digest }) => digest)),
  }
}

/** The source was removed while it was read. */
export class SourceRemoved extends Error {}

/** Whoever removes the source from now on waits until it is written. @throws SourceRemoved */
async function mustBeThere(tx: Tx, { id, key }: Source): Promise<void> {
  const row = await tx.first('select id from import_source where id = $1 for key share', [id])
  if (row === undefined) throw new SourceRemoved(`the source ${key} was removed while it was read`)
}

async function writeIn(tx: Tx, found: Found): Promise<Written> {
  const { source, gone, answer, synced } = found
  await tx.query('select pg_advisory_xact_lock(hashtext($1))', [LOCK])
  await mustBeThere(tx, source)
  await tx.query('create temp table import_touched (name text) on commit drop')
  const removed = await remove(tx, gone)
  await add(tx, found)
  const old = await keepNewest(tx, found)
  await noteModules(tx, found)
  if (removed + answer.added > 0) await noteNames(tx, found)
  const row = await tx.first<{ n: number }>('select count(*) as n from import_package where source_id = $1', [
    source.id,
  ])
  const written = {
    packages: row?.n ?? 0,
    added: answer.added - old.removed,
    removed,
  }
  await hold(tx, found, written, Buffer.concat([found.dropped, old.entries]))
  await recordSynced(tx, { ...synced, sourceId: source.id, ...written })
  return written
}

/**
 * Writes what is new and takes away what is gone, in one transaction: until it is committed everybody reads the
 * catalogue of before. @param within  also done in it
 * @throws SourceRemoved
 */
export async function writeFound(db: Db, found: Found, within: (tx: Tx) => Promise<void>): Promise<Written> {
  const written = await db.tx(async tx => {
    const result = await writeIn(tx, found)
    await within(tx)
    return result
  })
  // the planner knows nothing of a table that was empty a moment ago
  if (written.added > 1_000) await db.query('analyze import_package, import_capability, import_name')
  return written
}
