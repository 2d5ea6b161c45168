import type { Queryable } from '../db/db.ts'
import { migrationsUpTo } from '../db/migrate.ts'
import { space } from '../lib/disk-space.ts'
import { BadArchive } from './archive-reader.ts'
import { quoted } from './dump.ts'
import { refuseFull } from './restore.ts'
import type { BackupSource } from './source.ts'

/** What is counted, by the table that holds it. */
export const COUNTED = {
  packages: 'artifact',
  versions: 'package',
  decisions: 'decision',
  accounts: 'account',
  machines: 'inventory_client',
} as const
export type Counted = keyof typeof COUNTED

/** What a backup holds beside what is here, and whether it would be restored. */
export interface Preview {
  readonly created_at: string
  /** The release that made it. */
  readonly version: string
  readonly parts: readonly { readonly part: Counted; readonly now: number; readonly backup: number }[]
  /** The last migrations. An older backup is migrated, a newer one is refused. */
  readonly schema: { readonly now: string; readonly backup: string; readonly is: 'same' | 'older' | 'newer' }
  readonly needs_mb: number
  readonly free_mb: number
  /** Why it would be refused; null: nothing that can be known before all of it is read. */
  readonly refused: string | null
  readonly notes: readonly string[]
}

export interface PreviewDeps {
  readonly db: Queryable
  readonly root: string
  /** Whether functions of the enterprise edition are on here. */
  readonly isEnterprise: () => boolean
}

const NO_EDITION =
  'It was made with the enterprise edition, whose functions are off here. What belongs to them comes with it, and stays locked until EDITION and the licence allow it.'

async function count(db: Queryable, table: string): Promise<number> {
  const row = await db.first<{ n: number }>(`select count(*)::int as n from ${quoted(table)}`)
  return row?.n ?? 0
}

function schemaOf(mine: readonly string[], its: readonly string[]): Preview['schema'] {
  const is = its.some(name => !mine.includes(name)) ? 'newer' : its.length < mine.length ? 'older' : 'same'
  return { now: mine.at(-1) ?? '', backup: its.at(-1) ?? '', is }
}

/** The first reason that is known without reading all of it. */
async function reasonAgainst(
  root: string,
  sizeBytes: number,
  migrations: readonly string[],
): Promise<string | undefined> {
  try {
    migrationsUpTo(migrations)
    await refuseFull(root, sizeBytes)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * Compares a backup with what is here by what it says of itself; its files are not read, and nothing changes.
 * @throws BadArchive where it cannot be opened, or does not say what is in it
 */
export async function previewBackup(
  { db, root, isEnterprise }: PreviewDeps,
  source: BackupSource,
  { passphrase, signal }: { readonly passphrase: string; readonly signal: AbortSignal },
): Promise<Preview> {
  const about = await source.about(passphrase, signal)
  if (!Array.isArray(about.database?.tables)) throw new BadArchive('The archive does not say what is in its database.')
  const sizeBytes = await source.sizeBytes(passphrase)
  const { tables, migrations } = about.database
  const ran = await db.query<{ name: string }>('select name from schema_migration order by id')
  const mine = ran.map(({ name }) => name)
  const parts = []
  for (const [part, table] of Object.entries(COUNTED) as [Counted, string][])
    parts.push({ part, now: await count(db, table), backup: tables.find(({ name }) => name === table)?.rows ?? 0 })
  return {
    created_at: about.created_at,
    version: about.version,
    parts,
    schema: schemaOf(mine, migrations),
    needs_mb: Math.ceil((sizeBytes * 1.1) / 1e6),
    free_mb: Math.floor((await space(root)).freeBytes / 1e6),
    refused: (await reasonAgainst(root, sizeBytes, migrations)) ?? null,
    notes: about.enterprise === true && !isEnterprise() ? [NO_EDITION] : [],
  }
}
