import { createHold } from '../../server/db/distribution-lock.ts'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { createCatalog } from '../../server/catalog/catalog.ts'
import { WithStatus, type RawRequest } from '../../server/core/contract.ts'
import { ERRORS, fail, isRefusal } from '../../server/core/errors.ts'
import type { Finding } from '../../server/core/findings.ts'
import type { FormatId } from '../../server/core/identity.ts'
import type { Db } from '../../server/db/db.ts'
import { createOutbox, type Outbox } from '../../server/db/outbox.ts'
import { uploadHandlers, type UploadDeps } from '../../server/features/uploads/handlers.ts'
import type { UploadReply } from '../../server/features/uploads/result.ts'
import type { Layout } from '../../server/files/layout.ts'
import { createPool } from '../../server/files/pool.ts'
import { createSpool } from '../../server/files/spool.ts'
import { createUnpackedCopies, type Unpacked } from '../../server/files/unpacked.ts'
import { deb } from '../../server/formats/deb/index.ts'
import { hasTree, switchesFor } from '../../server/formats/index.ts'
import { systemClock } from '../../server/lib/clock.ts'
import { createDigestThreads } from '../../server/lib/digest.ts'
import { composeContents } from '../../server/contents/compose.ts'
import { NO_NAMES } from '../../server/contents/java/coordinates.ts'
import { createGate } from '../../server/pipeline/gate.ts'
import { createArrivals } from '../../server/lib/arrivals.ts'
import { createPackageSigning } from '../../server/pipeline/package-signing.ts'
import { createSteps } from '../../server/pipeline/steps.ts'
import { createUnpacking } from '../../server/pipeline/unpacking.ts'
import { createAudit } from '../../server/record/audit.ts'
import { createEvents } from '../../server/record/events.ts'
import { createClamd } from '../../server/scanners/clamd.ts'
import type { AntivirusScanner, VulnerabilityScanner } from '../../server/scanners/scanner.ts'
import { NO_DATA } from '../../server/vulndb/match/coverage.ts'
import type { SettingsValue } from '../../server/settings/schema.ts'
import type { Signer } from '../../server/signing/signer.ts'
import { createImageKeys } from '../../server/signing/image-keys.ts'
import { createUploaderKeys } from '../../server/signing/uploader-keys.ts'
import { hasClamd, startClamd, type TestClamd } from './clamd.ts'
import { buildDeb } from './packages.ts'
import { layoutOf, repositories } from './repositories.ts'
import { createTestDb, type TestDb } from './postgres.ts'
import { ALL_SEEING } from '../../server/core/viewer.ts'

/** What an upload was answered. */
export interface Answer<T> {
  readonly status: number
  readonly body: T
}
/** The body of a refusal. */
export interface Refusal {
  readonly code: string
  readonly facts: Record<string, unknown>
  readonly message: string
}

/** What a test changes before it uploads, and what it counts afterwards. */
interface Given {
  settings: SettingsValue
  antivirus: AntivirusScanner
  findings: Finding[] | undefined
  hasKey: boolean
  active: Set<FormatId>
  counted: string[]
  scanned: number
  /** Copies of unpacked parts that were read in place of unpacking again, by the name of the part. */
  readonly copiesRead: string[]
  answering: Promise<void>[]
  publishFails: boolean
}

/** The upload routes over a real database, real files and, where there is one, a real clamd; new for each test. */
export interface Uploads {
  given: Given
  layout: Layout
  deps: UploadDeps
  server: Server
  readonly port: number
  readonly base: string
  send<T = UploadReply>(body: FormData | Buffer, headers?: Record<string, string>): Promise<Answer<T>>
  /** What `POST /upload/stream` tells, event by event; a refusal is the only one. */
  stream(body: FormData): Promise<Record<string, unknown>[]>
  readonly db: Db
  rows(): Promise<{ name: string; version: string; state: string }[]>
}

const policy = { critical: 'block', high: 'review', medium: 'warn', low: 'allow', negligible: 'allow' } as const
/** Settings of an upload that scans, with what is different. */
export const settingsWith = (validation: Partial<SettingsValue['validation']> = {}): SettingsValue =>
  ({
    validation: {
      max_upload_size_mb: 3,
      clamav_scan: true,
      sha256_check: true,
      grype_scan: true,
      on_scanner_unavailable: 'warn',
      ...validation,
    },
    cve_policy: policy,
    import: { resolve_uploads: {} },
  }) as unknown as SettingsValue // the other sections are nothing to an upload
const noDataScanner: VulnerabilityScanner = {
  id: 'test',
  kind: 'vulnerability',
  status: async () => ({ id: 'test', ok: false, error: NO_DATA }),
  scan: async ({ distribution }) => ({
    coverage: 'no_data',
    findings: [],
    said: `No vulnerability data is loaded for ${distribution.label}, so nothing was looked up.`,
  }),
}
/** Finds nothing in anything. */
export const cleanScanner: AntivirusScanner = {
  id: 'test',
  kind: 'antivirus',
  status: async () => ({ id: 'test', ok: true }),
  scan: async () => ({ kind: 'clean' }),
}

/** The package most tests send. */
export const hello = (version = '1.0', more: Partial<Parameters<typeof buildDeb>[0]> = {}): Promise<Buffer> =>
  buildDeb({ name: 'hello', version, ...more })
/** SHA-256, as the pool names its files. */
export const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** A form as people send it. */
export function formOf(
  file: Buffer,
  fields: Record<string, string> = { distribution: 'bookworm' },
  filename = 'a_1_amd64.deb',
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('file', new Blob([new Uint8Array(file)]), filename)
  return form
}

function leftBy(res: ServerResponse): AbortSignal {
  const left = new AbortController()
  res.on('close', () => {
    if (!res.writableFinished) left.abort()
  })
  return left.signal
}

/** As small an HTTP layer as will do: the handlers are what is tested. */
async function answer(
  deps: UploadDeps,
  url: string,
  { raw, res }: { readonly raw: RawRequest; readonly res: ServerResponse },
): Promise<void> {
  const input = {
    params: {},
    query: undefined,
    body: undefined,
    who: { kind: 'user', name: 'uma', role: 'uploader', credential: 'c' },
    viewer: ALL_SEEING,
    raw,
  } as const
  try {
    if (url === '/upload/') {
      const result = await uploadHandlers['POST /upload/'](deps, input)
      if (!(result instanceof WithStatus)) throw new Error('the handler names its status')
      res.writeHead(result.status, { 'content-type': 'application/json' }).end(JSON.stringify(result.body))
    } else {
      for await (const event of await uploadHandlers['POST /upload/stream'](deps, input))
        res.write(`event: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`)
      res.end()
    }
  } catch (error) {
    if (raw.signal.aborted) return // nobody is there to read an answer
    if (!isRefusal(error)) return void res.writeHead(500).end(JSON.stringify({ code: 'fault', message: String(error) }))
    if (res.headersSent) return void res.end(`event: error\ndata: ${JSON.stringify({ code: error.code })}\n\n`)
    res
      .writeHead(ERRORS[error.code][0], { 'content-type': 'application/json' })
      .end(JSON.stringify({ code: error.code, facts: error.facts, message: error.message }))
  }
}

/** Sets the routes up for the tests of a file. After each of them nothing may be left in `incoming/`. */
export function openUploads(): Uploads {
  let testDb: TestDb
  let clamd: TestClamd | undefined
  let root: string
  let outbox: Outbox
  const threads = createDigestThreads({ threads: 1 })
  const it: Uploads = {
    get port() {
      return (it.server.address() as AddressInfo).port
    },
    get base() {
      return `http://127.0.0.1:${it.port}`
    },
    async send<T>(body: FormData | Buffer, headers: Record<string, string> = {}) {
      const response = await fetch(`${it.base}/upload/`, {
        method: 'POST',
        body: body instanceof FormData ? body : new Uint8Array(body),
        headers,
      })
      return { status: response.status, body: (await response.json()) as T }
    },
    async stream(body) {
      const response = await fetch(`${it.base}/upload/stream`, { method: 'POST', body })
      const text = await response.text()
      return response.ok
        ? text
            .trim()
            .split('\n\n')
            .map(event => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as Record<string, unknown>)
        : [JSON.parse(text) as Record<string, unknown>]
    },
    get db() {
      return testDb.db
    },
    rows: () => testDb.db.query('select name, version, state from package order by name, version'),
  } as Uploads // the rest is new for each test

  function wire(): UploadDeps {
    const { db } = testDb
    const { given, layout } = it
    const events = createEvents({ clock: systemClock })
    const catalog = createCatalog({
      db,
      outbox,
      pool: createPool({ layout, clock: systemClock }),
      audit: createAudit({ db, layout, clock: systemClock, outbox }),
      events,
      clock: systemClock,
      hasTree,
      hold: createHold(repositories),
    })
    const spool = createSpool({ layout, random: randomBytes, threads })
    const antivirus: AntivirusScanner = {
      ...cleanScanner,
      scan: (subject, signal) => {
        given.scanned++
        return given.antivirus.scan(subject, signal)
      },
    }
    const vulnerability: VulnerabilityScanner = {
      ...noDataScanner,
      scan: async (subject, signal) =>
        given.findings === undefined
          ? noDataScanner.scan(subject, signal)
          : { coverage: 'covered', said: 'Looked up.', findings: given.findings },
    }
    const keyring = {
      keys: async () => [],
      signer: async () => (given.hasKey ? ({ keys: [] } as unknown as Signer) : fail('no_signing_key', {})),
    }
    const settings = { now: () => given.settings }
    const contents = composeContents({
      layout,
      pool: createPool({ layout, clock: systemClock }),
      version: 'test',
      settings: { now: () => ({ validation: { contents_cpu_seconds: 120 } }) },
      javaNames: async () => NO_NAMES,
    })
    const steps = createSteps({
      contents,
      matcher: {
        coverage: async () => ({ coverage: 'no_data', said: 'No data.' }),
        match: async (_, packages) => packages.map(() => []),
      },
      scanners: { antivirus: [antivirus], vulnerability: [vulnerability] },
      keyring,
      db,
      uploaderKeys: createUploaderKeys({ db, clock: systemClock }),
      imageKeys: createImageKeys({ db, clock: systemClock }),
      pool: createPool({ layout, clock: systemClock }),
    })
    const open = createUnpackedCopies(layout.incoming)
    const copies = (): Unpacked => {
      const unpacked = open()
      return {
        ...unpacked,
        read(part) {
          const copy = unpacked.read(part)
          if (copy !== undefined) given.copiesRead.push(part.what)
          return copy
        },
      }
    }
    const gate = createGate({
      arrivals: createArrivals(),
      steps,
      catalog,
      settings,
      signing: createPackageSigning({ spool, keyring, settings, clock: systemClock }),
      unpacking: createUnpacking(),
      copies,
      contents,
      clock: systemClock,
    })
    return {
      spool,
      gate,
      formats: [deb],
      repositories,
      switchesFor,
      get activeFormats() {
        return given.active
      },
      settings,
      events,
      clock: systemClock,
      importMissing: async () => undefined,
      metrics: {
        uploaded: status => {
          given.counted.push(status)
        },
        found: severity => {
          given.counted.push(severity)
        },
      },
    }
  }

  beforeAll(async () => {
    testDb = await createTestDb()
    clamd = hasClamd ? await startClamd() : undefined
  })
  afterAll(async () => {
    await testDb.close()
    await clamd?.close()
    await threads.close()
  })
  beforeEach(async () => {
    await testDb.db.query('truncate package, artifact, outbox, publish_dirty, audit_pending, package_offer cascade')
    root = await mkdtemp(join(tmpdir(), 'uploads-'))
    it.layout = layoutOf(root)
    const antivirus = clamd === undefined ? cleanScanner : createClamd({ address: clamd.address, clock: systemClock })
    it.given = {
      settings: settingsWith(),
      antivirus,
      findings: [],
      hasKey: true,
      active: new Set<FormatId>(['deb']),
      counted: [],
      scanned: 0,
      copiesRead: [],
      answering: [],
      publishFails: false,
    }
    outbox = createOutbox({ db: testDb.db, onError: () => undefined, tickMs: 20 })
    for (const kind of ['manifest', 'blob', 'contents', 'audit']) outbox.handle(kind, async () => undefined)
    outbox.handle('publish', async () => {
      if (it.given.publishFails) fail('no_signing_key', {})
    })
    outbox.start()
    await createSpool({ layout: it.layout, random: randomBytes, threads }).sweep()
    it.deps = wire()
    it.server = createServer((req, res) => {
      const raw = { stream: req, headers: req.headers, clientIp: '192.0.2.1', requestId: 'r', signal: leftBy(res) }
      it.given.answering.push(answer(it.deps, req.url ?? '', { raw, res }))
    })
    it.server.listen(0, '127.0.0.1')
    await once(it.server, 'listening')
  })
  afterEach(async () => {
    it.server.closeAllConnections()
    await new Promise<void>(resolve => it.server.close(() => resolve()))
    await Promise.all(it.given.answering)
    await outbox.stop()
    expect(await readdir(it.layout.incoming)).toEqual([]) // whatever happened, nothing is left of it
    await rm(root, { recursive: true, force: true })
  })
  return it
}
