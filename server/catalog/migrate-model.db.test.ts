import { createHold } from '../db/distribution-lock.ts'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ALL_SEEING } from '../core/viewer.ts'
import { judge } from '../../test/support/review-change.ts'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import { layoutOf, repositories } from '../../test/support/repositories.ts'
import type { Codename, PackageRef } from '../core/identity.ts'
import { readManifest } from '../core/read-manifest.ts'
import type { Db } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { createOutbox, type Outbox } from '../db/outbox.ts'
import type { Layout } from '../files/layout.ts'
import { createManifests, type Manifests } from '../files/manifests.ts'
import { createPool } from '../files/pool.ts'
import { hasTree } from '../formats/index.ts'
import { systemClock } from '../lib/clock.ts'
import { createAudit } from '../record/audit.ts'
import { createEvents } from '../record/events.ts'
import { createCatalog } from './catalog.ts'
import { createRebuild } from './rebuild.ts'
import { findManifest, whereBlobBelongs } from './queries/store.ts'

/** What release 0.1 kept of eight packages: its rows at schema 0013, and its manifests by their path. */
interface Release {
  readonly rows: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
  readonly manifests: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

let release: Release
let old: TestDb
let root: string
let layout: Layout
let manifests: Manifests
let outbox: Outbox

const TOOL: PackageRef = {
  format: 'rpm',
  name: 'tool',
  version: '1.0-1',
  arch: 'x86_64',
  codename: 'almalinux9' as Codename,
}

/** The columns that a statement may write: not those that the database computes. */
async function columnsOf(db: Db, table: string): Promise<string> {
  const rows = await db.query<{ column_name: string }>(
    `select column_name from information_schema.columns where table_name = $1 and is_generated = 'NEVER'`,
    [table],
  )
  return rows.map(({ column_name }) => `"${column_name}"`).join(', ')
}

async function restore(db: Db, { rows }: Release): Promise<void> {
  await migrate(db, '0013-access')
  for (const [table, list] of Object.entries(rows)) {
    const columns = await columnsOf(db, table)
    await db.query(
      `insert into ${table} (${columns}) overriding system value
      select ${columns} from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [JSON.stringify(list)],
    )
  }
}

/** Everything that is known of packages, without the numbers that the database gave them. */
const everything = (db: Db): Promise<unknown[]> =>
  db.query(`
    select to_jsonb(p) - 'id' as package,
      (select jsonb_agg(to_jsonb(f) - 'package_id' order by f.n) from package_file f where f.package_id = p.id) as files,
      (select jsonb_agg(to_jsonb(o) - 'package_id' order by o.provides) from package_offer o where o.package_id = p.id) as offers,
      (select to_jsonb(a) from artifact a where a.format = p.format and a.name = p.name) as artifact,
      (select jsonb_agg(to_jsonb(d) - 'id') from decision d where d.codename = p.codename and d.name = p.name) as decisions
    from package p order by p.format, p.codename, p.name, p.version, p.arch`)

beforeAll(async () => {
  release = JSON.parse(
    await readFile(new URL('release-0.1.test-data.json', import.meta.url), 'utf8'),
  ) as unknown as Release
  root = await mkdtemp(join(tmpdir(), 'gh-migrate-'))
  layout = layoutOf(root)
  for (const [path, manifest] of Object.entries(release.manifests)) {
    const file = join(layout.manifests, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, JSON.stringify(manifest))
  }
  manifests = createManifests(layout)
  old = await createTestDb({ isEmpty: true })
  await restore(old.db, release)
  await migrate(old.db)
  outbox = createOutbox({ db: old.db, onError: () => undefined })
})
afterAll(async () => {
  await old.close()
  await rm(root, { recursive: true, force: true })
})

test('every manifest of release 0.1 is read, under the path that it has today', async () => {
  const paths = Object.keys(release.manifests)
  expect(paths).toHaveLength(8)
  for (const [path, json] of Object.entries(release.manifests)) {
    const { schema, blob, filename, files, signed, ...rest } = json
    expect(schema).toBe(1)
    const manifest = readManifest(json)
    expect(manifest).toEqual({
      schema: 2,
      ...rest,
      files: [{ path: filename, blob, ...(signed === undefined ? {} : { signed }) }],
      paths: files,
    })
    expect(layout.manifest(manifest.ref)).toBe(join(layout.manifests, path))
  }
})

test('its rows become the rows that its manifests are rebuilt to', async () => {
  expect(await createRebuild({ db: old.db, outbox, manifests, layout, hasTree })(ALL_SEEING)).toEqual({
    manifests: 8,
    added: 0,
    changed: 0,
    removed: 0,
    broken: [],
  })
  const fresh = await createTestDb()
  try {
    const rebuild = createRebuild({
      db: fresh.db,
      outbox: createOutbox({ db: fresh.db, onError: () => undefined }),
      manifests,
      layout,
      hasTree,
    })
    expect(await rebuild(ALL_SEEING)).toMatchObject({ manifests: 8, added: 8, broken: [] })
    expect(await everything(old.db)).toEqual(await everything(fresh.db))
  } finally {
    await fresh.close()
  }
  for (const json of Object.values(release.manifests)) {
    const manifest = readManifest(json)
    expect(await findManifest(old.db, ALL_SEEING, manifest.ref)).toEqual(manifest)
    const { sha256 } = manifest.files[0].blob
    const isKept = manifest.state === 'published' || manifest.state === 'pending_review'
    expect(await whereBlobBelongs(old.db, sha256)).toBe(isKept ? 'pool' : 'quarantine')
  }
})

test('a changed manifest is written in schema 2, and manifests of both schemas rebuild the same database', async () => {
  const { db } = old
  const blob = (await findManifest(db, ALL_SEEING, TOOL))?.files[0].blob
  if (blob === undefined) throw new Error('it has no file')
  // only its place counts here
  await mkdir(dirname(layout.blob(blob.sha256)), { recursive: true })
  await writeFile(layout.blob(blob.sha256), '')
  const catalog = createCatalog({
    db,
    outbox,
    pool: createPool({ layout, clock: systemClock }),
    audit: createAudit({ db, layout, clock: systemClock, outbox }),
    events: createEvents({ clock: systemClock }),
    clock: systemClock,
    hasTree,
    hold: createHold(repositories),
  })
  const { manifest } = await catalog.change(judge(TOOL, 'quarantine'), { name: 'mae' })
  expect(manifest.files[0].signed?.received.sha256).toMatch(/^[0-9a-f]{64}$/)
  await manifests.write(manifest)
  expect(JSON.parse(await readFile(layout.manifest(TOOL), 'utf8'))).toMatchObject({ schema: 2, state: 'quarantined' })
  const before = await everything(db)
  await db.query('truncate package, artifact, package_offer, decision cascade')
  expect(await createRebuild({ db, outbox, manifests, layout, hasTree })(ALL_SEEING)).toMatchObject({
    manifests: 8,
    added: 8,
    broken: [],
  })
  expect(await everything(db)).toEqual(before)
})
