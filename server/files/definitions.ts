import { readFile } from 'node:fs/promises'
import { fail } from '../core/errors.ts'
import type { Distribution } from '../core/repository.ts'
import type { Queryable, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { writeAtomic } from '../lib/atomic.ts'
import type { KeyedLock } from '../lib/keyed-lock.ts'
import type { Layout } from './layout.ts'

/**
 * An admin's definitions of distributions: rows of the database, and beside them a file, from which a lost database is
 * filled again. Manifests on disk would mean nothing without it.
 */
export interface Definitions {
  /**
   * Those of the database; where it has none and owes none to the file, those of the file, which go into it.
   * @throws Error when that file cannot be read
   */
  load(): Promise<readonly Distribution[]>
  save(tx: Tx, definition: Distribution, by: string, at: Date): Promise<void>
  remove(tx: Tx, codename: string): Promise<void>
  /** Rewrites the file from the database. */
  settle(): Promise<readonly Distribution[]>
}

/** Who makes a change of a definition. */
export interface By {
  readonly name: string
  readonly ip: string
}

/**
 * One change of a definition at a time, of a distribution or a registry: they share names, rows and the file, and each
 * is made to what the one before left. @param lock  the one that all who change definitions have
 */
export const definitionsInTurn = <T>(lock: KeyedLock, work: () => Promise<T>): Promise<T> =>
  lock.run('definitions', work)

/** The caller has locked the name. @throws distribution_exists where somebody else took it meanwhile */
export async function needFreeName(tx: Tx, { codename }: Pick<Distribution, 'codename'>): Promise<void> {
  const there = await tx.first('select 1 as one from distribution_definition where codename = $1', [codename])
  if (there !== undefined) fail('distribution_exists', { codename })
}

/** Owes the file, and the removal of trees where the distribution is no more: it is settled also after a crash. */
export const oweDefinition = (
  tx: Tx,
  outbox: Pick<Outbox, 'owe'>,
  { format, codename }: Pick<Distribution, 'format' | 'codename'>,
): Promise<number> => outbox.owe(tx, `distribution:${format}/${codename}`)

/** Deletes what these tables keep by a codename; a later repository of the name must not find it. */
export async function forgetByName(tx: Tx, tables: readonly string[], codename: string): Promise<void> {
  for (const table of tables) await tx.query(`delete from ${table} where codename = $1`, [codename])
}

const UPSERT = `insert into distribution_definition (codename, definition, changed_by, changed_at) values ($1, $2, $3, $4)
  on conflict (codename) do update set definition = excluded.definition, changed_by = excluded.changed_by, changed_at = excluded.changed_at`

/**
 * The definitions in the file, for commands without a database; none where there is no file.
 * @throws Error when it cannot be read
 */
export async function readDefinitions({
  distributionsFile,
}: Pick<Layout, 'distributionsFile'>): Promise<readonly Distribution[]> {
  try {
    const all: unknown = JSON.parse(await readFile(distributionsFile, 'utf8'))
    if (!Array.isArray(all)) throw new Error('it is no list')
    return all as readonly Distribution[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new Error(`${distributionsFile} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** The definitions below one root. */
export function createDefinitions(db: Queryable, layout: Pick<Layout, 'distributionsFile'>): Definitions {
  const read = async (): Promise<readonly Distribution[]> =>
    (
      await db.query<{ definition: Distribution }>('select definition from distribution_definition order by codename')
    ).map(row => row.definition)

  async function readCopy(): Promise<readonly Distribution[]> {
    try {
      return await readDefinitions(layout)
    } catch (error) {
      throw new Error(
        `${layout.distributionsFile} cannot be read, and the database has no definition of a distribution. Put the file back from a backup; without it, packages of own distributions stay on disk and are not served.`,
        { cause: error },
      )
    }
  }

  return {
    async load() {
      const known = await read()
      if (known.length > 0) return known
      const owed = await db.first(`select 1 as one from outbox where key like 'distribution:%' limit 1`)
      if (owed !== undefined) return [] // the last one was removed, and the file does not say so yet
      const copy = await readCopy()
      for (const one of copy) await db.query(UPSERT, [one.codename, JSON.stringify(one), 'restored', new Date()])
      return copy
    },
    async save(tx, definition, by, at) {
      await tx.query(UPSERT, [definition.codename, JSON.stringify(definition), by, at])
    },
    async remove(tx, codename) {
      await tx.query('delete from distribution_definition where codename = $1', [codename])
    },
    async settle() {
      const all = await read()
      await writeAtomic(layout.distributionsFile, `${JSON.stringify(all, undefined, 2)}\n`)
      return all
    },
  }
}
