import { fail } from '../../core/errors.ts'
import type { Codename } from '../../core/identity.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Source } from '../source.ts'
import { listBuiltins, type BuiltinSource } from './builtin.ts'

/** What is remembered of a source's root, and how its last synchronisation ended. */
export interface SourceStatus {
  readonly state: string
  readonly said: string | null
  readonly at: Date | null
  readonly valid_until: Date | null
  readonly origin: string | null
  readonly codename: string | null
  readonly signed_by: readonly string[]
  readonly packages: number
  readonly bytes: number
  readonly mirror: string | null
  readonly tried_at: Date | null
  readonly synced_at: Date | null
  readonly missing_since: Date | null
  readonly failures: number
  readonly not_before: Date | null
}

/** A source with the last try; `status` is undefined before the first. */
export interface KnownSource {
  readonly source: Source
  readonly status: SourceStatus | undefined
}

/** What an admin may change of a source. */
export type SourceFields = Omit<Source, 'id' | 'key' | 'builtin' | 'format' | 'kind' | 'retired'>
export type NewSource = Omit<Source, 'id' | 'builtin' | 'retired'>

/** The repositories of others that packages are imported from. */
export interface SourceStore {
  /** By format and label. `enabled` says whether both the source and the setting `sources` are on. */
  list(): Promise<readonly KnownSource[]>
  /** @param name  its number or its key @throws source_not_found */
  get(tx: Queryable, name: string): Promise<KnownSource>
  /** @throws import_source_exists */
  add(tx: Tx, source: NewSource, by: string): Promise<Source>
  /** Of one that comes with the product, the changed fields are the admin's from now on. */
  change(tx: Tx, source: Source, changes: Partial<SourceFields>): Promise<Source>
  /** With all that the catalogue holds of it. @throws import_source_builtin */
  remove(tx: Tx, source: Source): Promise<void>
  /** Forgets what a root has to be like, so that one which is older, or of another owner, is taken once. */
  forget(tx: Tx, source: Source, what: 'older' | 'origin'): Promise<void>
  /** Writes the sources that come with the product: new ones come, changed ones follow, others retire. */
  settle(): Promise<void>
}

interface Row extends Partial<Omit<SourceStatus, 'codename'>> {
  readonly id: number
  readonly key: string
  readonly label: string
  readonly format: string
  readonly kind: Source['kind']
  readonly urls: readonly string[]
  readonly suite: string | null
  readonly components: readonly string[]
  readonly archs: readonly string[]
  readonly codenames: readonly Codename[]
  readonly security: boolean
  readonly keys: readonly string[]
  readonly signed: boolean
  readonly allow_expired: boolean
  readonly newest: number | null
  readonly enabled: boolean
  readonly builtin: boolean
  readonly retired: boolean
  readonly own: readonly string[]
  readonly root_codename?: string | null
}

const FIELDS =
  'id, key, label, format, kind, urls, suite, components, archs, codenames, security, keys, signed, allow_expired, newest, enabled, builtin, retired, own'
const STATUS = `r.state, r.said, r.at, r.valid_until, r.origin, r.codename as root_codename, r.signed_by, r.packages,
  r.bytes, r.mirror, r.tried_at, r.synced_at, r.missing_since, r.failures, r.not_before`
const SELECT = `select ${FIELDS.replaceAll(/\w+/g, name => `s.${name}`)}, ${STATUS}
  from import_source s left join import_root r on r.source_id = s.id`

const COLUMN_OF = {
  label: 'label',
  urls: 'urls',
  suite: 'suite',
  components: 'components',
  archs: 'archs',
  codenames: 'codenames',
  security: 'security',
  keys: 'keys',
  signed: 'signed',
  allowExpired: 'allow_expired',
  newest: 'newest',
  enabled: 'enabled',
} as const satisfies Readonly<Record<keyof SourceFields, string>>
const NAMES = Object.keys(COLUMN_OF) as (keyof SourceFields)[]

function sourceOf(row: Row, isOn: (key: string) => boolean): Source {
  return {
    id: row.id,
    key: row.key,
    label: row.label,
    format: row.format,
    kind: row.kind,
    urls: row.urls,
    ...(row.suite === null ? {} : { suite: row.suite }),
    components: row.components,
    archs: row.archs,
    codenames: row.codenames,
    security: row.security,
    keys: row.keys,
    signed: row.signed,
    allowExpired: row.allow_expired,
    ...(row.newest === null ? {} : { newest: row.newest }),
    enabled: row.enabled && isOn(row.key),
    builtin: row.builtin,
    retired: row.retired,
  }
}

function statusOf(row: Row): SourceStatus | undefined {
  if (typeof row.state !== 'string') return undefined
  const { root_codename: codename = null, ...rest } = row
  return { ...(rest as unknown as SourceStatus), codename }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/** Inserts a row. @returns undefined where the key is taken */
async function insert(
  tx: Queryable,
  source: NewSource & { readonly retired?: boolean },
  given: { readonly builtin: boolean; readonly by?: string },
): Promise<Row | undefined> {
  return tx.first<Row>(
    `insert into import_source (key, format, kind, retired, builtin, created_by, label, urls, suite, components, archs,
       codenames, security, keys, signed, allow_expired, newest, enabled)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
     on conflict (key) do nothing returning ${FIELDS}`,
    [
      ...[source.key, source.format, source.kind, source.retired ?? false, given.builtin, given.by ?? null],
      ...NAMES.map(name => source[name] ?? null),
    ],
  )
}

/** One statement for each field, so that each names its column. */
async function update(tx: Queryable, id: number, changes: Partial<SourceFields>): Promise<void> {
  for (const name of NAMES.filter(one => one in changes))
    await tx.query(`update import_source set ${COLUMN_OF[name]} = $2 where id = $1`, [id, changes[name] ?? null])
}

/** Brings one source to what the product says, but for what an admin changed of it. */
async function follow(tx: Tx, row: Row, product: BuiltinSource): Promise<void> {
  const now = sourceOf(row, () => true)
  const differing = NAMES.filter(
    name => name !== 'enabled' && !row.own.includes(name) && !isSame(now[name], product[name as keyof BuiltinSource]),
  )
  await update(tx, row.id, Object.fromEntries(differing.map(name => [name, product[name as keyof BuiltinSource]])))
  if (row.retired !== product.retired)
    await tx.query('update import_source set retired = $2 where id = $1', [row.id, product.retired])
}

export function createSourceStore({
  db,
  clock,
  switches,
}: {
  readonly db: Db
  readonly clock: Clock
  /** The setting `sources`: a key that is not named is on. */
  readonly switches: () => Readonly<Record<string, boolean>>
}): SourceStore {
  const isOn = (key: string): boolean => switches()[key] !== false
  const known = (row: Row): KnownSource => ({ source: sourceOf(row, isOn), status: statusOf(row) })

  async function get(tx: Queryable, name: string): Promise<KnownSource> {
    const row = /^\d{1,9}$/.test(name)
      ? await tx.first<Row>(`${SELECT} where s.id = $1`, [Number(name)])
      : await tx.first<Row>(`${SELECT} where s.key = $1`, [name])
    return row === undefined ? fail('source_not_found', { source: name.slice(0, 80) }) : known(row)
  }

  return {
    get,
    async list() {
      return (await db.query<Row>(`${SELECT} order by s.format, s.label, s.id`)).map(known)
    },
    async add(tx, source, by) {
      const row = await insert(tx, source, { builtin: false, by })
      return row === undefined ? fail('import_source_exists', { key: source.key }) : sourceOf(row, isOn)
    },
    async change(tx, source, changes) {
      await update(tx, source.id, changes)
      if (source.builtin)
        await tx.query(
          'update import_source set own = array(select distinct unnest(own || $2::text[])) where id = $1',
          [source.id, Object.keys(changes)],
        )
      return (await get(tx, String(source.id))).source
    },
    async remove(tx, source) {
      if (source.builtin) fail('import_source_builtin', { key: source.key })
      await tx.query('delete from import_source where id = $1', [source.id])
    },
    async forget(tx, source, what) {
      await tx.query(
        what === 'older'
          ? 'update import_root set at = null where source_id = $1'
          : 'update import_root set origin = null, codename = null where source_id = $1',
        [source.id],
      )
    },
    async settle() {
      const products = listBuiltins(clock.now())
      await db.tx(async tx => {
        const rows = await tx.query<Row>(`select ${FIELDS} from import_source for update`)
        const byKey = new Map(rows.map(row => [row.key, row]))
        for (const product of products) {
          const row = byKey.get(product.key)
          if (row === undefined) await insert(tx, { ...product, enabled: true }, { builtin: true })
          // an own source with that name stays as it is
          else if (row.builtin) await follow(tx, row, product)
        }
        const keys = products.map(({ key }) => key)
        await tx.query('update import_source set retired = true where builtin and not retired and not key = any($1)', [
          keys,
        ])
      })
    },
  }
}
