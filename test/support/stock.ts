import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCatalog, type Catalog, type Changed } from '../../server/catalog/catalog.ts'
import { catalogDebts } from '../../server/catalog/compose.ts'
import type { Principal } from '../../server/core/access.ts'
import type { RawRequest } from '../../server/core/contract.ts'
import type { Finding } from '../../server/core/findings.ts'
import { sha256, type Blob, type Codename, type PackageRef } from '../../server/core/identity.ts'
import type { Manifest } from '../../server/core/manifest.ts'
import type { Alternatives, Provided } from '../../server/core/relation.ts'
import type { Report } from '../../server/core/report.ts'
import type { Db } from '../../server/db/db.ts'
import { createOutbox, handleDebts, type Outbox } from '../../server/db/outbox.ts'
import type { Layout } from '../../server/files/layout.ts'
import { createManifests, type Manifests } from '../../server/files/manifests.ts'
import { createPool } from '../../server/files/pool.ts'
import { publishDebts } from '../../server/publish/compose.ts'
import type { Publisher } from '../../server/publish/publisher.ts'
import { createAudit, type Audit } from '../../server/record/audit.ts'
import { createEvents, type Events } from '../../server/record/events.ts'
import { createTestDb } from './postgres.ts'
import { layoutOf } from './repositories.ts'

/** What a package on the shelf is; what is not said is `hello 1.0 amd64`, published in jammy. */
export interface Item {
  readonly name?: string
  readonly version?: string
  readonly arch?: string
  readonly codename?: string
  readonly state?: Manifest['state']
  readonly summary?: string
  readonly findings?: readonly Finding[]
  readonly reports?: readonly Report[]
  readonly depends?: readonly Alternatives[]
  readonly provides?: readonly Provided[]
  readonly by?: string
  readonly bytes?: string | Buffer
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
  readonly clock: { now(): Date; set(iso: string): void }
  /** Codenames in the order of their publications. */
  readonly published: string[]
  put(item?: Item): Promise<Changed>
  clear(): Promise<void>
  close(): Promise<void>
}

function manifestOf(item: Item, file: { readonly filename: string; readonly blob: Blob }, at: string): Manifest {
  const { name = 'hello', version = '1.0', arch = 'amd64', codename = 'jammy', findings = [] } = item
  const ref: PackageRef = { format: 'deb', name, version, arch, codename: codename as Codename }
  const severity = findings[0]?.severity
  return {
    schema: 2,
    ref,
    files: [{ path: file.filename, blob: file.blob }],
    state: item.state ?? 'published',
    reports: item.reports ?? [],
    findings,
    ...(severity === undefined ? {} : { worst: severity }),
    facts: { control: `Package: ${name}\nVersion: ${version}` },
    paths: ['usr/bin/hello'],
    by: item.by ?? 'ada',
    from: 'upload',
    at,
    changed_at: at,
    about: {
      summary: item.summary ?? `about ${name}`,
      description: `All about ${name}.`,
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

export async function createStock(): Promise<Stock> {
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
  const catalog = createCatalog({ db, outbox, pool: createPool({ layout, clock }), audit, events, clock })
  handleDebts(outbox, {
    ...catalogDebts({ catalog, manifests }),
    ...publishDebts(notePublications(published)),
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
    clock,
    published,
    put: async (item = {}) => {
      const bytes = item.bytes ?? JSON.stringify(item)
      const path = join(layout.incoming, randomBytes(6).toString('hex'))
      await writeFile(path, bytes)
      const hex = (algorithm: string): string => createHash(algorithm).update(bytes).digest('hex')
      const blob = {
        sha256: sha256(hex('sha256')),
        md5: hex('md5'),
        sha1: hex('sha1'),
        sha512: hex('sha512'),
        size: bytes.length,
      }
      const filename = `${item.name ?? 'hello'}_${item.version ?? '1.0'}_${item.arch ?? 'amd64'}.deb`
      const file = { path, filename, blob, head: Buffer.from(bytes), discard: () => rm(path, { force: true }) }
      return catalog.change(
        { kind: 'admit', manifest: manifestOf(item, file, now.toISOString()), file },
        { name: item.by ?? 'ada', ip: '192.0.2.1' },
      )
    },
    clear: async () => {
      await outbox.drain()
      await db.query(`truncate package, artifact, outbox, publish_dirty, generation, distribution, audit_pending, audit_head,
        package_offer, account cascade`)
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
