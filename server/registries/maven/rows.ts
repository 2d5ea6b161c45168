import type { Blob, Codename } from '../../core/identity.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { Algorithm } from '../../formats/maven/place.ts'

/** A version whose files arrive one by one. `version` is what their names say. */
export interface Deploy {
  readonly codename: Codename
  readonly name: string
  readonly version: string
}

/** One of its files. */
export interface Arrived extends Blob, Deploy {
  readonly path: string
  /** Its name in `.deploys/`. */
  readonly kept: string
  readonly sender: string
  readonly ip: string
  readonly at: Date
  /** Of a snapshot whose files name no build: the build that it becomes. */
  readonly build: string | null
}

const COLUMNS = 'codename, name, version, path, kept, sender, ip, sha256, size, md5, sha1, sha512, at, build'

/** The files that are here, by their names. */
export function listArrived(db: Queryable, { codename, name, version }: Deploy): Promise<Arrived[]> {
  return db.query<Arrived>(
    `select ${COLUMNS} from maven_arrived where codename = $1 and name = $2 and version = $3 order by path`,
    [codename, name, version],
  )
}

/** @returns false where a file of this name is here already */
export async function addArrived(db: Queryable, row: Omit<Arrived, 'build'>): Promise<boolean> {
  const added = await db.query(
    `insert into maven_arrived (codename, name, version, path, kept, sender, ip, sha256, size, md5, sha1, sha512, at, begun_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
    on conflict (codename, name, version, path) do nothing returning path`,
    [
      row.codename,
      row.name,
      row.version,
      row.path,
      row.kept,
      row.sender,
      row.ip,
      row.sha256,
      row.size,
      row.md5,
      row.sha1,
      row.sha512,
      row.at,
    ],
  )
  return added.length > 0
}

/** The build of a snapshot is chosen once, whoever asks again after a crash. @returns the one that holds */
export async function chooseBuild(db: Queryable, { codename, name, version }: Deploy, build: string): Promise<string> {
  const row = await db.first<{ build: string }>(
    `update maven_arrived set build = coalesce(build, $4) where codename = $1 and name = $2 and version = $3
    returning build`,
    [codename, name, version, build],
  )
  return row?.build ?? build
}

/** A file came again, or its checksum: the version is still on its way. */
export async function touchArrived(db: Queryable, { codename, name, version }: Deploy, at: Date): Promise<void> {
  await db.query('update maven_arrived set at = $4 where codename = $1 and name = $2 and version = $3', [
    codename,
    name,
    version,
    at,
  ])
}

/** Forgets a deploy. @returns the names of its files in `.deploys/` */
export async function forgetDeploy(db: Queryable, { codename, name, version }: Deploy): Promise<readonly string[]> {
  await db.query('delete from maven_said where codename = $1 and name = $2 and version = $3', [codename, name, version])
  const rows = await db.query<{ kept: string }>(
    'delete from maven_arrived where codename = $1 and name = $2 and version = $3 returning kept',
    [codename, name, version],
  )
  return rows.map(({ kept }) => kept)
}

/** The versions of a name that a sender is deploying. */
export function listDeploys(
  db: Queryable,
  { codename, name, sender }: Pick<Arrived, 'codename' | 'name' | 'sender'>,
): Promise<Deploy[]> {
  return db.query<Deploy>(
    'select distinct codename, name, version from maven_arrived where codename = $1 and name = $2 and sender = $3 order by version',
    [codename, name, sender],
  )
}

/** Those whose last file came before a moment, and how long before they were begun. */
export function listRested(db: Queryable, before: Date): Promise<(Deploy & { readonly since: Date })[]> {
  return db.query<Deploy & { since: Date }>(
    `select codename, name, version, min(begun_at) as since from maven_arrived
    group by codename, name, version having max(at) < $1 order by min(begun_at)`,
    [before],
  )
}

/** How much is waiting in one registry, in bytes. */
export async function sizeWaiting(db: Queryable, codename: Codename): Promise<number> {
  const row = await db.first<{ size: number }>(
    'select coalesce(sum(size), 0)::bigint as size from maven_arrived where codename = $1',
    [codename],
  )
  return row?.size ?? 0
}

/** Which of these files in `.deploys/` belong to a deploy. */
export async function listKept(db: Queryable, names: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ kept: string }>('select kept from maven_arrived where kept = any($1)', [[...names]])
  return new Set(rows.map(({ kept }) => kept))
}

/** A checksum that was sent before its file. */
export interface Said extends Deploy {
  readonly path: string
  readonly algorithm: Algorithm
  readonly digest: string
}

export async function addSaid(db: Queryable, said: Said, at: Date): Promise<void> {
  await db.query(
    `insert into maven_said (codename, name, version, path, algorithm, digest, at) values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (codename, name, version, path, algorithm) do update set digest = excluded.digest, at = excluded.at`,
    [said.codename, said.name, said.version, said.path, said.algorithm, said.digest, at],
  )
}

export function listSaid(
  db: Queryable,
  { codename, name, version, path }: Omit<Said, 'algorithm' | 'digest'>,
): Promise<Pick<Said, 'algorithm' | 'digest'>[]> {
  return db.query<Pick<Said, 'algorithm' | 'digest'>>(
    'select algorithm, digest from maven_said where codename = $1 and name = $2 and version = $3 and path = $4 order by algorithm',
    [codename, name, version, path],
  )
}

/** Forgets checksums whose file never came. */
export async function sweepSaid(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from maven_said where at < $1', [before])
}

/** Whether somebody keeps a version from being removed. */
export async function isPinned(tx: Tx, { codename, name, version }: Deploy): Promise<boolean> {
  const row = await tx.first('select 1 from pin where codename = $1 and name = $2 and version = $3', [
    codename,
    name,
    version,
  ])
  return row !== undefined
}
