import type { Codename, FormatId } from '../../core/identity.ts'
import type { Manifest, State } from '../../core/manifest.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import type { RemoteFile } from '../../core/remote-file.ts'

/** A name of a registry. Who may see the registry is asked before. */
export interface RemoteKey {
  readonly codename: Codename
  readonly name: string
}

/**
 * Why clients do not get a version from the index; `blocked` and `review`: what the policy makes of its findings;
 * `license`: what it makes of the licence that the index says; `lookalike`: its name looks like one of the house;
 * `unjudged`: it has just been listed, and no verdict is there yet.
 */
export type Hidden = 'malicious' | 'blocked' | 'review' | 'license' | 'lookalike' | 'young' | 'unjudged'

/** What is known of a name. */
export interface NameRow {
  readonly is_missing: boolean
  readonly validators: Readonly<Record<string, string>>
  readonly about: Readonly<Record<string, unknown>>
  readonly revision: string
  readonly checked_at: Date
  readonly tried_at: Date
  readonly said: string | null
  readonly judged_for: string
  /** It came from another installation, and its upstream said nothing since. */
  readonly is_carried: boolean
}

/** A waiver that holds. */
export interface WaiverRow {
  readonly version: string
  readonly expires_at: Date
}

/** A version of a name, with what is here of it. */
export interface RemoteRow {
  readonly version: string
  readonly arch: string
  readonly published_at: Date | null
  readonly seen_at: Date
  readonly file: RemoteFile | null
  readonly facts: Readonly<Record<string, unknown>>
  /** As the index says it: empty where it says none, null where the index does not say licences. */
  readonly license: string | null
  /** In the form that was asked for. */
  readonly document: string | null
  readonly is_listed: boolean
  readonly hidden: Hidden | null
  readonly said: string | null
  readonly ripe_at: Date | null
  /** Of its package here; null where its bytes never came. */
  readonly state: State | null
  /** Why its package here is not served is read from this; null where it is. */
  readonly held: Pick<Manifest, 'ref' | 'state' | 'reports' | 'findings' | 'review' | 'decision'> | null
}

export function findName(db: Queryable, { codename, name }: RemoteKey): Promise<NameRow | undefined> {
  return db
    .repeat<NameRow>(
      `select is_missing, validators, about, revision, checked_at, tried_at, said, judged_for,
        about ? 'carried_at' as is_carried
      from remote_name where codename = $1 and name = $2`,
      [codename, name],
    )
    .then(([row]) => row)
}

/** What documents about a name follow from beside its rows: states of packages here, and waivers. */
export async function readLocalMark(
  db: Queryable,
  { codename, name }: RemoteKey,
  { format, now }: { readonly format: FormatId; readonly now: Date },
): Promise<{ readonly packages: string; readonly waivers: readonly WaiverRow[] }> {
  const [row] = await db.repeat<{ packages: string | null; waivers: { version: string; expires_at: string }[] | null }>(
    `select (select md5(string_agg(version || ' ' || arch || ' ' || state || ' ' || extract(epoch from changed_at), ','
          order by version, arch)) from package where format = $3 and codename = $1 and name = $2) as packages,
      (select jsonb_agg(jsonb_build_object('version', version, 'expires_at', expires_at) order by version)
        from registry_waiver where codename = $1 and name = $2 and expires_at > $4) as waivers`,
    [codename, name, format, now],
  )
  const waivers = (row?.waivers ?? []).map(one => ({ ...one, expires_at: new Date(one.expires_at) }))
  return { packages: row?.packages ?? '', waivers }
}

const COLUMNS = `r.version, r.arch, r.published_at, r.seen_at, r.file, r.facts, r.license, r.is_listed, r.hidden, r.said, r.ripe_at,
  p.state, case when p.state <> 'published' then p.manifest - 'files' - 'about' end as held`

/** Which of the prepared texts are read. */
export type DocumentForm = 'full' | 'short' | 'none'

/**
 * The versions of a name, oldest first by the order of the format: those that the upstream lists, and those that it
 * lists no more and that are here.
 */
export function listRemote(
  db: Queryable,
  { codename, name }: RemoteKey,
  {
    format,
    form = 'none',
    version,
  }: {
    readonly format: FormatId
    readonly form?: DocumentForm
    readonly version?: string | readonly string[]
  },
): Promise<RemoteRow[]> {
  const document = form === 'none' ? 'null' : `r.${form}_document`
  return db.repeat<RemoteRow>(
    `select ${COLUMNS}, ${document} as document
    from remote_version r left join package p
      on p.format = $3 and p.codename = r.codename and p.name = r.name and p.version = r.version and p.arch = r.arch
    where r.codename = $1 and r.name = $2 and (r.is_listed or p.state is not null)
      and ($4::text[] is null or r.version = any($4)) order by r.sort_key, r.version collate "C", r.arch`,
    [codename, name, format, version === undefined ? null : [version].flat()],
  )
}

/** What an upstream said of a name, as it is kept. */
export interface SavedIndex {
  readonly about: Readonly<Record<string, unknown>>
  readonly validators: Readonly<Record<string, string>>
  /** `version` and `arch` with a tab between. */
  readonly keys: readonly string[]
  /** JSON texts of lists of entries with their `sort_key`, each a few hundred kilobytes. */
  readonly chunks: AsyncIterable<string>
}

/**
 * A version whose bytes are here keeps the file and the documents that they came with, whatever the upstream says
 * later: clients would compare them with other digests. One that is listed again is judged anew.
 */
const UPSERT = `
  insert into remote_version as r (codename, name, version, arch, sort_key, published_at, seen_at, file, facts,
    license, full_document, short_document, is_listed, hidden, said)
  select $1, $2, e.version, e.arch, e.sort_key, e.published_at, $3, e.file, e.facts, e.license, e.full_document, e.short_document, true,
    'unjudged', 'Its upstream has just listed it, and it is being judged.'
  from jsonb_to_recordset($4::jsonb) as e (version text, arch text, sort_key text, published_at timestamptz, file jsonb,
    facts jsonb, license text, full_document text, short_document text)
  on conflict (codename, name, version, arch) do update set is_listed = true, facts = excluded.facts,
    license = excluded.license, published_at = coalesce(excluded.published_at, r.published_at), sort_key = excluded.sort_key, file = excluded.file,
    full_document = coalesce(excluded.full_document, r.full_document), short_document = excluded.short_document,
    hidden = case when r.is_listed then r.hidden else excluded.hidden end,
    said = case when r.is_listed then r.said else excluded.said end,
    ripe_at = case when r.is_listed then r.ripe_at end
  where not exists (select from package p where p.format = $5 and p.codename = $1 and p.name = $2
      and p.version = excluded.version and p.arch = excluded.arch)
    and (r.is_listed, r.facts, r.license, r.published_at, r.sort_key, r.file, r.full_document, r.short_document) is distinct from
      (true, excluded.facts, excluded.license, coalesce(excluded.published_at, r.published_at), excluded.sort_key, excluded.file,
        coalesce(excluded.full_document, r.full_document), excluded.short_document)
  returning 1 as one`
const UPSERT_HERE = `
  update remote_version r set is_listed = true, facts = e.facts
  from jsonb_to_recordset($3::jsonb) as e (version text, arch text, facts jsonb)
  where r.codename = $1 and r.name = $2 and r.version = e.version and r.arch = e.arch
    and (r.is_listed, r.facts) is distinct from (true, e.facts)
    and exists (select from package p where p.format = $4 and p.codename = $1 and p.name = $2 and p.version = r.version
      and p.arch = r.arch)
  returning 1 as one`

/** One writer of a name at a time, in this and other processes. */
const lockName = (tx: Tx, { codename, name }: RemoteKey): Promise<unknown> =>
  tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`remote ${codename} ${name}`])

/** Keeps what an upstream said of a name. Its revision is another one only where something differs. */
export async function saveIndex(
  db: Pick<Db, 'tx'>,
  { codename, name }: RemoteKey,
  {
    format,
    index,
    now,
    revision,
  }: { readonly format: FormatId; readonly index: SavedIndex; readonly now: Date; readonly revision: string },
): Promise<void> {
  await db.tx(async tx => {
    await lockName(tx, { codename, name })
    let changed = 0
    for await (const chunk of index.chunks) {
      changed += (await tx.query(UPSERT, [codename, name, now, chunk, format])).length
      changed += (await tx.query(UPSERT_HERE, [codename, name, chunk, format])).length
    }
    const gone = await tx.query(
      `update remote_version set is_listed = false where codename = $1 and name = $2 and is_listed
        and not facts ? 'unlisted' and not ((version || E'\\t' || arch) = any($3)) returning 1 as one`,
      [codename, name, [...index.keys]],
    )
    await tx.query(
      `insert into remote_name as n (codename, name, is_missing, validators, about, revision, checked_at, tried_at)
      values ($1, $2, false, $3, $4, $5, $6, $6)
      on conflict (codename, name) do update set validators = excluded.validators, checked_at = excluded.checked_at,
        tried_at = excluded.tried_at, said = null, about = excluded.about, is_missing = false,
        revision = case when $7 or n.is_missing or n.about <> excluded.about then excluded.revision else n.revision end`,
      [
        codename,
        name,
        JSON.stringify(index.validators),
        JSON.stringify(index.about),
        revision,
        now,
        changed + gone.length > 0,
      ],
    )
  })
}

/** The upstream has no such name. What is here of it stays. */
export async function saveMissing(
  db: Pick<Db, 'tx'>,
  { codename, name }: RemoteKey,
  { now, revision }: { readonly now: Date; readonly revision: string },
): Promise<void> {
  await db.tx(async tx => {
    await lockName(tx, { codename, name })
    await tx.query(
      `update remote_version set is_listed = false where codename = $1 and name = $2 and is_listed
        and not facts ? 'unlisted'`,
      [codename, name],
    )
    await tx.query(
      `insert into remote_name as n (codename, name, is_missing, validators, about, revision, checked_at, tried_at)
      values ($1, $2, true, '{}', '{}', $3, $4, $4)
      on conflict (codename, name) do update set is_missing = true, validators = '{}', checked_at = excluded.checked_at,
        tried_at = excluded.tried_at, said = null,
        revision = case when n.is_missing then n.revision else excluded.revision end`,
      [codename, name, revision, now],
    )
  })
}

/** The upstream says that nothing changed. */
export async function saveUnchanged(db: Queryable, { codename, name }: RemoteKey, now: Date): Promise<void> {
  await db.query(
    'update remote_name set checked_at = $3, tried_at = $3, said = null where codename = $1 and name = $2',
    [codename, name, now],
  )
}

/** The upstream could not be asked; a name that nothing is known of stays unknown. */
export async function saveFailure(
  db: Queryable,
  { codename, name }: RemoteKey,
  { now, said }: { readonly now: Date; readonly said: string },
): Promise<void> {
  await db.query('update remote_name set tried_at = $3, said = $4 where codename = $1 and name = $2', [
    codename,
    name,
    now,
    said,
  ])
}

/** Keeps a document of one version that its index does not bring, such as the metadata of a wheel. */
export async function saveDocument(
  db: Queryable,
  { codename, name }: RemoteKey,
  { version, arch, document }: { readonly version: string; readonly arch: string; readonly document: string },
): Promise<void> {
  await db.query(
    'update remote_version set full_document = $5 where codename = $1 and name = $2 and version = $3 and arch = $4',
    [codename, name, version, arch, document],
  )
}

/** A version that an upstream has and its index does not list; it is judged as the others. */
export async function addUnlisted(
  db: Pick<Db, 'tx'>,
  { codename, name }: RemoteKey,
  given: {
    readonly version: string
    readonly arch: string
    readonly sort_key: string
    readonly published_at: Date | undefined
    readonly now: Date
    readonly revision: string
  },
): Promise<void> {
  const { version, arch, sort_key, published_at = null, now, revision } = given
  await db.tx(async tx => {
    await lockName(tx, { codename, name })
    await tx.query(
      `insert into remote_version (codename, name, version, arch, sort_key, published_at, seen_at, facts, is_listed)
      values ($1, $2, $3, $4, $5, $6, $7, '{"unlisted":true}', true) on conflict do nothing`,
      [codename, name, version, arch, sort_key, published_at, now],
    )
    await tx.query(
      `insert into remote_name (codename, name, is_missing, validators, about, revision, checked_at, tried_at)
      values ($1, $2, true, '{}', '{}', $3, $4, $4)
      on conflict (codename, name) do update set revision = excluded.revision`,
      [codename, name, revision, now],
    )
  })
}

/** When versions were published, as their files say it where the index does not. Others stay as they are. */
export async function saveDates(
  db: Pick<Db, 'tx'>,
  { codename, name }: RemoteKey,
  { dates, revision }: { readonly dates: ReadonlyMap<string, Date>; readonly revision: string },
): Promise<void> {
  await db.tx(async tx => {
    await lockName(tx, { codename, name })
    const changed = await tx.query(
      `update remote_version r set published_at = d.at from unnest($3::text[], $4::timestamptz[]) as d (version, at)
      where r.codename = $1 and r.name = $2 and r.version = d.version and r.published_at is null returning 1 as one`,
      [codename, name, [...dates.keys()], [...dates.values()]],
    )
    if (changed.length > 0)
      await tx.query('update remote_name set revision = $3 where codename = $1 and name = $2', [
        codename,
        name,
        revision,
      ])
  })
}

/** What is decided of one version. */
export interface Verdict {
  readonly version: string
  readonly arch: string
  readonly hidden: Hidden | null
  readonly said: string | null
  readonly ripe_at: Date | null
}

/** Keeps the verdicts of a name, unless it changed meanwhile. */
export async function saveVerdicts(
  db: Pick<Db, 'tx'>,
  { codename, name }: RemoteKey,
  {
    revision,
    mark,
    verdicts,
  }: { readonly revision: string; readonly mark: string; readonly verdicts: readonly Verdict[] },
): Promise<void> {
  await db.tx(async tx => {
    await lockName(tx, { codename, name })
    const still = await tx.query(
      'update remote_name set judged_for = $4 where codename = $1 and name = $2 and revision = $3 returning 1 as one',
      [codename, name, revision, mark],
    )
    if (still.length === 0) return
    await tx.query(
      `update remote_version r set hidden = v.hidden, said = v.said, ripe_at = v.ripe_at
      from jsonb_to_recordset($3::jsonb) as v (version text, arch text, hidden text, said text, ripe_at timestamptz)
      where r.codename = $1 and r.name = $2 and r.version = v.version and r.arch = v.arch
        and (r.hidden, r.said, r.ripe_at) is distinct from (v.hidden, v.said, v.ripe_at)`,
      [codename, name, JSON.stringify(verdicts)],
    )
  })
}

/** The names of a proxy that were asked for and are there, in the order of their code points. */
export async function listRemoteNames(
  db: Queryable,
  { codename, after, most }: { readonly codename: Codename; readonly after: string; readonly most: number },
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select name from remote_name where codename = $1 and name > $2 and not is_missing order by name limit $3`,
    [codename, after, most],
  )
  return rows.map(({ name }) => name)
}

/** A waiver with who gave it and why. */
export interface StandingWaiver {
  readonly reason: string
  readonly given_by: string
  readonly expires_at: Date
}

/** The waiver of a version that holds now. */
export function findWaiver(
  db: Queryable,
  { codename, name, version }: RemoteKey & { readonly version: string },
  now: Date,
): Promise<StandingWaiver | undefined> {
  return db.first<StandingWaiver>(
    `select reason, given_by, expires_at from registry_waiver
    where codename = $1 and name = $2 and version = $3 and expires_at > $4`,
    [codename, name, version, now],
  )
}
