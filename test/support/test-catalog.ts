import { createHold } from '../../server/db/distribution-lock.ts'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { catalogDebts } from '../../server/catalog/compose.ts'
import { createCatalog, type Catalog } from '../../server/catalog/catalog.ts'
import type { Changed } from '../../server/catalog/change.ts'
import type { Principal } from '../../server/core/access.ts'
import type { RawRequest } from '../../server/core/contract.ts'
import type { Finding } from '../../server/core/findings.ts'
import type { Codename, FormatId, PackageRef } from '../../server/core/identity.ts'
import type { Manifest, PackageKind } from '../../server/core/manifest.ts'
import type { Alternatives, Provided } from '../../server/core/relation.ts'
import type { Repositories } from '../../server/core/repository.ts'
import type { Report } from '../../server/core/report.ts'
import type { Db } from '../../server/db/db.ts'
import { createOutbox, handleDebts, type Outbox } from '../../server/db/outbox.ts'
import type { Layout } from '../../server/files/layout.ts'
import { hasTree } from '../../server/formats/index.ts'
import { createManifests, type Manifests } from '../../server/files/manifests.ts'
import { createPool, type Pool } from '../../server/files/pool.ts'
import { publishDebts } from '../../server/publish/compose.ts'
import { createArrivals } from '../../server/lib/arrivals.ts'
import type { SpooledFile } from '../../server/files/spool.ts'
import type { Publisher } from '../../server/publish/publisher.ts'
import { createAudit, type Audit } from '../../server/record/audit.ts'
import { createEvents, type Events } from '../../server/record/events.ts'
import { spoolBytes } from './packages.ts'
import { createTestDb } from './postgres.ts'
import { layoutOf, repositories } from './repositories.ts'

/** A package in the test catalogue. Default: `hello 1.0 amd64`, published in jammy. */
export interface Item {
  readonly format?: FormatId
  readonly name?: string
  readonly version?: string
  readonly arch?: string
  readonly codename?: string
  readonly state?: Manifest['state']
  readonly summary?: string
  readonly license?: string
  readonly findings?: readonly Finding[]
  readonly reports?: readonly Report[]
  readonly depends?: readonly Alternatives[]
  readonly provides?: readonly Provided[]
  readonly by?: string
  readonly from?: Manifest['from']
  readonly bytes?: string | Buffer
  /** Of the first file; as a .deb is called by default. */
  readonly filename?: string
  /** What its format keeps of it. */
  readonly facts?: unknown
  /** Further files of the version: path → bytes. */
  readonly others?: Readonly<Record<string, string>>
  readonly kind?: PackageKind
  readonly component?: string
}

/** The real catalogue, database and files, without gate and trees; publications are noted instead. */
export interface Stock {
  readonly db: Db
  readonly layout: Layout
  readonly outbox: Outbox
  readonly audit: Audit
  readonly events: Events
  readonly catalog: Catalog
  readonly manifests: Manifests
  readonly pool: Pool
  readonly clock: { now(): Date; set(iso: string): void }
  /** Codenames in the order of their publications. */
  readonly published: string[]
  put(item?: Item): Promise<Changed>
  clear(): Promise<void>
  close(): Promise<void>
}

function manifestOf(item: Item, [file, ...others]: readonly [SpooledFile, ...SpooledFile[]], at: string): Manifest {
  const { name = 'hello', version = '1.0', arch = 'amd64', codename = 'jammy', findings = [] } = item
  const ref: PackageRef = { format: item.format ?? 'deb', name, version, arch, codename: codename as Codename }
  const severity = findings[0]?.severity
  return {
    schema: 2,
    ref,
    ...(item.component === undefined ? {} : { component: item.component }),
    ...(item.kind === undefined ? {} : { kind: item.kind }),
    files: [
      { path: file.filename, blob: file.blob },
      ...others.map(({ filename, blob }) => ({ path: filename, blob })),
    ],
    state: item.state ?? 'published',
    reports: item.reports ?? [],
    findings,
    ...(severity === undefined ? {} : { worst: severity }),
    facts: item.facts ?? { control: `Package: ${name}\nVersion: ${version}` },
    paths: ['usr/bin/hello'],
    by: item.by ?? 'ada',
    from: item.from ?? 'upload',
    at,
    changed_at: at,
    about: {
      summary: item.summary ?? `about ${name}`,
      description: `All about ${name}.`,
      ...(item.license === undefined ? {} : { license: item.license }),
      source: name,
      source_version: version,
      depends: item.depends ?? [],
      provides: [{ name, version }, ...(item.provides ?? [])],
      conflicts: [],
    },
  }
}

/** Stands where trees are written: notes the codenames in the order in which they were to be published. */
export function notePublications(published: string[]): Pick<Publisher, 'publish' | 'publishContents'> {
  return {
    publish: async codename => {
      published.push(codename)
      return undefined
    },
    publishContents: async () => undefined,
  }
}

/**
 * @param given.trees  which formats have any; as this build has them when absent
 * @param given.repositories  the default set when absent
 */
export async function createStock(
  given: { readonly trees?: typeof hasTree; readonly repositories?: Pick<Repositories, 'find'> } = {},
): Promise<Stock> {
  const testDb = await createTestDb()
  const { db } = testDb
  const root = await mkdtemp(join(tmpdir(), 'gh-stock-'))
  const layout = layoutOf(root)
  await mkdir(layout.incoming, { recursive: true })
  let now = new Date('2026-03-01T10:00:00Z')
  const clock = {
    now: () => now,
    set: (iso: string) => {
      now = new Date(iso)
    },
  }
  const published: string[] = []
  const outbox = createOutbox({ db, onError: () => undefined, tickMs: 20 })
  const audit = createAudit({ db, layout, clock, outbox })
  const events = createEvents({ clock })
  const manifests = createManifests(layout)
  const pool = createPool({ layout, clock })
  const catalog = createCatalog({
    db,
    outbox,
    pool,
    audit,
    events,
    clock,
    hasTree: given.trees ?? hasTree,
    hold: createHold(given.repositories ?? repositories),
  })
  handleDebts(outbox, {
    ...catalogDebts({ catalog, db, manifests }),
    ...publishDebts(notePublications(published), createArrivals()),
    audit: { deliver: () => audit.deliver() },
  })
  outbox.start()
  return {
    db,
    layout,
    outbox,
    audit,
    events,
    catalog,
    manifests,
    pool,
    clock,
    published,
    put: async (item = {}) => {
      const filename = item.filename ?? `${item.name ?? 'hello'}_${item.version ?? '1.0'}_${item.arch ?? 'amd64'}.deb`
      const file = await spoolBytes(layout.incoming, filename, Buffer.from(item.bytes ?? JSON.stringify(item)))
      const others = await Promise.all(
        Object.entries(item.others ?? {}).map(([name, bytes]) => spoolBytes(layout.incoming, name, Buffer.from(bytes))),
      )
      const manifest = manifestOf(item, [file, ...others], now.toISOString())
      return catalog.change(
        { kind: 'admit', manifest, files: [file, ...others] },
        { name: item.by ?? 'ada', ip: '192.0.2.1' },
      )
    },
    clear: async () => {
      await outbox.drain()
      await db.query(`truncate package, artifact, outbox, publish_dirty, generation, distribution, audit_pending, audit_head,
        package_offer, tag, account cascade`)
      for (const folder of [layout.audit, layout.manifests, layout.pool])
        await rm(folder, { recursive: true, force: true })
      published.length = 0
    },
    close: async () => {
      await outbox.stop()
      await testDb.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** The request part that handlers get beside their validated values. */
export function rawRequest(over: Partial<RawRequest> = {}): RawRequest {
  return {
    stream: {} as IncomingMessage,
    headers: {},
    clientIp: '192.0.2.7',
    requestId: 'r1',
    signal: new AbortController().signal,
    ...over,
  }
}

export const someone = (role: Principal['role'] = 'admin'): Principal => ({
  kind: 'user',
  name: 'mae',
  role,
  credential: 'c1',
})
