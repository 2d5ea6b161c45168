import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { hasClamd, startClamd, type TestClamd } from '../support/clamd.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { lacking, run } from '../support/tools.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const lacks = lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0 || !hasClamd
const REAL = join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  'shared',
  'data',
  'vuln',
  'osv',
  'Debian-12-changelog',
  'all.zip',
)
const VERSION = '3.0.20-1~deb12u2'
const CVES = ['CVE-2026-63072', 'CVE-2026-75806']
/** As Debian tells of them: by the source package, and nobody has rated them. */
const written = (): Buffer =>
  osvZip([
    ...Array.from({ length: 150 }, (_, n) =>
      osvRecord(`DEBIAN-CVE-2021-${20_000 + n}`, [['Debian:12', `filler${n}`, '1']]),
    ),
    ...CVES.map(cve => osvRecord(`DEBIAN-${cve}`, [['Debian:12', 'openssl', '3.0.22-1~deb12u2']], { upstream: [cve] })),
  ])

/** The package as Debian built it where its archive still has it, else one of the same name and version. */
async function libssl(version: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-libssl-'))
  try {
    if (version === VERSION && (await run('apt-get', ['download', `libssl3=${version}`], { cwd: folder })).code === 0)
      return await readFile(join(folder, (await readdir(folder))[0] ?? ''))
    return await buildDeb({ name: 'libssl3', version, fields: { Source: 'openssl' } })
  } finally {
    await rm(folder, { recursive: true })
  }
}

const SECRETS = {
  JWT_SECRET_KEY: 'jwt-1f7d0b9c2e6a4835',
  WEBHOOK_SECRET: 'hook-9b1d5e7f3c2a4680',
  LICENSE_VENDOR_SECRET: 'vendor-6c8e0a2b4d1f3759',
}

describe.skipIf(lacks).each<[string, () => Promise<Buffer>, boolean]>([
  ['advisories as Debian writes them', async () => written(), true],
  ['a real dump (skipped where it is not beside the repository)', () => readFile(REAL), existsSync(REAL)],
])('a fresh machine in production with %s (needs apt, gpgv, gnupg, clamd)', (_, dump, isHere) => {
  let daemon: Daemon
  let clamd: TestClamd
  let client: AptRoot
  let admin: string
  beforeAll(async () => {
    if (!isHere) return
    clamd = await startClamd()
    daemon = await startDaemon({ env: { ENV: 'production', CLAMD_SOCKET: clamd.address.socket, ...SECRETS } })
    admin = await daemon.setupAdmin()
    expect(
      await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'bookworm' } }),
    ).toMatchObject({ status: 200 })
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(await dump())]), 'all.zip')
    expect(await daemon.call('POST', '/security/database', { token: admin, form })).toMatchObject({ status: 200 })
    client = await createAptRoot({
      source: `${daemon.url}/repos bookworm main`,
      key: (await daemon.call('GET', '/repos/gpg.key')).text,
      has: ['libc6'],
    })
  })
  afterAll(async () => {
    if (!isHere) return
    await client.close()
    await daemon.close()
    await clamd.close()
  })
  const at = (version: string, what: string): string =>
    `/security/packages/libssl3/${encodeURIComponent(version)}/${what}`
  const decide = (version: string, body: object) => daemon.call('POST', at(version, 'decide'), { token: admin, body })
  async function install(version: string): Promise<string | undefined> {
    expect(await client.update()).toMatchObject({ code: 0 })
    await client.install(`libssl3=${version}`)
    return client.installedVersion('libssl3')
  }

  test.skipIf(!isHere)(
    'a vulnerable package is held with its CVEs, installed once it was approved, and never when it was rejected; the audit log has it all',
    async () => {
      const held = await daemon.upload(await libssl(VERSION), {
        token: admin,
        filename: `libssl3_${VERSION}_amd64.deb`,
        distribution: 'bookworm',
      })
      expect(held, held.text).toMatchObject({
        status: 201,
        body: { status: 'pending_review', pipeline: { antivirus: 'clean', cve_scan: 'findings' } },
      })
      const { body: known } = await daemon.call<{ cves: { id: string }[] }>('GET', at(VERSION, 'cve'), { token: admin })
      expect(known.cves.map(({ id }) => id)).toEqual(expect.arrayContaining(CVES))
      expect((await daemon.call('GET', '/security/review-queue', { token: admin })).body).toMatchObject({
        total: 1,
        packages: { items: [{ name: 'libssl3', version: VERSION }] },
      })
      expect(await install(VERSION)).toBeUndefined()

      expect(await decide(VERSION, { decision: 'approve', justification: ' ' })).toMatchObject({ status: 422 })
      expect(await decide(VERSION, { decision: 'approve', justification: 'TLS ends at the proxy.' })).toMatchObject({
        status: 200,
        body: { status: 'published', published: true },
      })
      expect(await install(VERSION)).toBe(VERSION)

      const refused = '3.0.19-1~deb12u2'
      expect((await daemon.upload(await libssl(refused), { token: admin, distribution: 'bookworm' })).body.status).toBe(
        'pending_review',
      )
      expect(await decide(refused, { decision: 'reject', comment: 'Take the newer one.' })).toMatchObject({
        status: 200,
        body: { status: 'rejected', published: false },
      })
      expect(await install(refused)).toBe(VERSION)

      const log = await daemon.call<{ items: { action: string; detail: string }[] }>(
        'GET',
        '/artifacts/audit/logs?package=libssl3',
        { token: admin },
      )
      expect(log.body.items.map(({ action, detail }) => `${action} ${detail}`).reverse()).toEqual([
        expect.stringMatching(/^UPLOAD .*pending_review/),
        'SECURITY_DECISION approve: TLS ends at the proxy. pending_review → published.',
        expect.stringMatching(/^UPLOAD .*pending_review/),
        'SECURITY_DECISION reject: Take the newer one. pending_review → rejected.',
      ])
      expect((await daemon.call('GET', '/artifacts/audit/integrity', { token: admin })).body).toMatchObject({
        ok: true,
      })
    },
  )
})
