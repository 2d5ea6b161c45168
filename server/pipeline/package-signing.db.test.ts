import { createHold } from '../db/distribution-lock.ts'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ALL_SEEING } from '../core/viewer.ts'
import { buildDeb } from '../../test/support/packages.ts'
import { buildRpm } from '../../test/support/packages-rpm.ts'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import { getDistribution, layoutOf, repositories } from '../../test/support/repositories.ts'
import { createCatalog, type Catalog } from '../catalog/catalog.ts'
import type { Changed } from '../catalog/change.ts'
import { createOutbox, type Outbox } from '../db/outbox.ts'
import type { Layout } from '../files/layout.ts'
import { createPool } from '../files/pool.ts'
import { createSpool, type Spool } from '../files/spool.ts'
import { hasTree, recognise } from '../formats/index.ts'
import { systemClock } from '../lib/clock.ts'
import { createDigestThreads } from '../lib/digest.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createAudit } from '../record/audit.ts'
import { createEvents } from '../record/events.ts'
import type { SettingsValue } from '../settings/schema.ts'
import { createKeyring } from '../signing/keyring.ts'
import { formatStep } from './format-check.ts'
import { NOTHING } from '../contents/component.ts'
import { createUnpackedCopies } from '../files/unpacked.ts'
import { createGate, passGate, type Gate } from './gate.ts'
import { createArrivals } from '../lib/arrivals.ts'
import { createPackageSigning } from './package-signing.ts'
import { createUnpacking } from './unpacking.ts'
import { provenanceStep } from './provenance.ts'

let testDb: TestDb
const threads = createDigestThreads({ threads: 1 })
beforeAll(async () => {
  testDb = await createTestDb()
})
afterAll(async () => {
  await testDb.close()
  await threads.close()
})

let layout: Layout
let catalog: Catalog
let outbox: Outbox
let spool: Spool
let keyring: ReturnType<typeof createKeyring>
let gate: Gate
let isOn: boolean
beforeEach(async () => {
  const { db } = testDb
  await db.query('truncate package, artifact, outbox, publish_dirty, audit_pending, package_offer cascade')
  layout = layoutOf(await mkdtemp(join(tmpdir(), 'gh-seal-')))
  outbox = createOutbox({ db, onError: () => undefined, tickMs: 20 })
  catalog = createCatalog({
    db,
    outbox,
    pool: createPool({ layout, clock: systemClock }),
    audit: createAudit({ db, layout, clock: systemClock, outbox }),
    events: createEvents({ clock: systemClock }),
    clock: systemClock,
    hasTree,
    hold: createHold(repositories),
  })
  spool = createSpool({ layout, random: randomBytes, threads })
  await spool.sweep()
  keyring = createKeyring({ layout, box: createSecretBox('k'), clock: systemClock })
  isOn = true
  const settings = {
    now: () =>
      ({
        validation: { sha256_check: true, on_scanner_unavailable: 'warn' },
        cve_policy: {},
        signing: { rpm_packages: isOn },
      }) as SettingsValue, // the rest is nothing to the gate
  }
  gate = createGate({
    arrivals: createArrivals(),
    steps: [formatStep(db), provenanceStep],
    catalog,
    settings,
    signing: createPackageSigning({ spool, keyring, settings, clock: systemClock }),
    unpacking: createUnpacking(),
    copies: createUnpackedCopies(layout.incoming),
    contents: { read: async () => NOTHING },
    clock: systemClock,
  })
})
afterEach(async () => {
  expect(await readdir(layout.incoming)).toEqual([]) // whatever happened, nothing is left of it
  await rm(layout.root, { recursive: true, force: true })
})

async function admit(bytes: Buffer, codename = 'almalinux9', expectedSha256?: string): Promise<Changed> {
  const file = await spool.receive(Readable.from([bytes]), {
    filename: 'package.rpm',
    limitBytes: 1e9,
    signal: new AbortController().signal,
  })
  return passGate(
    gate,
    {
      file,
      format: recognise(file.head, file.filename),
      distribution: getDistribution(codename),
      actor: { name: 'uma' },
      from: 'upload',
      ...(expectedSha256 === undefined ? {} : { expectedSha256 }),
    },
    new AbortController().signal,
  )
}
const makeKey = (): Promise<{ readonly fingerprint: string }> =>
  keyring.generate({ type: 'ed25519Legacy', name: 'Test', email: 'test@example.test', overlapDays: 1 })
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const hello = (more = ''): Promise<Buffer> =>
  buildRpm({ name: 'hello', version: '1.0', release: '1', summary: `hello${more}` })

describe('with package signing on', () => {
  test('what is kept carries the signature; manifest and audit say which key, and the digest before and after', async () => {
    const { fingerprint } = await makeKey()
    const bytes = await hello()
    const {
      outcome,
      manifest: { files, facts, ref, reports },
    } = await admit(bytes, 'almalinux9', sha256(bytes))
    const [{ blob, signed }] = files
    expect(outcome).toBe('created')
    expect(signed).toMatchObject({ key: fingerprint, received: { sha256: sha256(bytes), size: bytes.length } })
    expect(blob.sha256).not.toBe(signed?.received.sha256)
    const kept = await readFile(layout.blob(blob.sha256))
    expect({ sha256: sha256(kept), size: kept.length }).toEqual({ sha256: blob.sha256, size: blob.size })
    const [start, end] = (facts as { readonly header: readonly [number, number] }).header
    expect(bytes.includes(kept.subarray(start, end))).toBe(true)
    expect(reports.find(({ step }) => step === 'provenance')).toMatchObject({
      verdict: 'verified',
      said: expect.stringContaining(sha256(bytes)) as string,
    })
    expect(await catalog.find(ALL_SEEING, ref)).toMatchObject({
      files: [{ path: 'package.rpm', signed: { key: fingerprint }, blob }],
    })
    const [line] = await testDb.db.query<{ fact: object }>('select fact from audit_pending')
    expect(line?.fact).toMatchObject({
      facts: {
        kind: 'package.admitted',
        sha256: sha256(bytes),
        state: 'published',
        signed: { key: fingerprint, sha256: blob.sha256 },
      },
    })
  })

  test('the same bytes again are known, as they were sent and as clients get them; others are a conflict that names what was sent', async () => {
    await makeKey()
    const bytes = await hello()
    const { manifest } = await admit(bytes)
    expect(await admit(bytes)).toMatchObject({ outcome: 'already', manifest: { files: manifest.files } })
    expect(await admit(await readFile(layout.blob(manifest.files[0].blob.sha256)))).toMatchObject({
      outcome: 'already',
    })
    isOn = false
    expect(await admit(bytes)).toMatchObject({ outcome: 'already' })
    const other = await hello('!')
    await expect(admit(other)).rejects.toMatchObject({
      code: 'duplicate_conflict',
      facts: { incoming_sha256: sha256(other), existing_sha256: sha256(bytes) },
    })
  })

  test('of many uploads of one file at once, one is taken in', async () => {
    await makeKey()
    const bytes = await hello()
    const all = await Promise.all(Array.from({ length: 5 }, () => admit(bytes)))
    expect(all.map(({ outcome }) => outcome).sort()).toEqual(['already', 'already', 'already', 'already', 'created'])
    expect(new Set(all.map(({ manifest }) => manifest.files[0].blob.sha256)).size).toBe(1)
  })

  test('nothing is taken in unsigned while there is no key', async () => {
    await expect(admit(await hello())).rejects.toMatchObject({ code: 'no_signing_key' })
    expect(await testDb.db.query('select 1 from package')).toEqual([])
  })

  test('a package of a format that signs only its index stays as it is', async () => {
    await makeKey()
    const bytes = await buildDeb({ name: 'hello', version: '1' })
    const { manifest } = await admit(bytes, 'jammy')
    expect(manifest.files[0].signed).toBeUndefined()
    expect(manifest.files[0].blob.sha256).toBe(sha256(bytes))
  })
})

test('with package signing off a package stays as it is', async () => {
  await makeKey()
  isOn = false
  const bytes = await hello()
  const { manifest } = await admit(bytes)
  expect(manifest.files[0].signed).toBeUndefined()
  expect(await readFile(layout.blob(manifest.files[0].blob.sha256))).toEqual(bytes)
})
