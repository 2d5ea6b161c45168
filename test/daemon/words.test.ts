import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { stubEngine } from '../support/stub-engine.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

// What the product says of safety, beside what it does.
const BACKGROUND_MS = 40_000

interface Said {
  readonly status: string
  readonly validation: {
    readonly publication: string
    readonly steps: readonly { readonly name: string; readonly message: string }[]
  }
}
async function sent(daemon: Daemon, token: string, name: string): Promise<Said> {
  const { body } = await daemon.upload(await buildDeb({ name, version: '1' }), { token })
  return body as unknown as Said
}
const messageOf = ({ validation }: Said, step: string): string | undefined =>
  validation.steps.find(({ name }) => name === step)?.message
const warnings = async (daemon: Daemon, token: string): Promise<readonly string[]> =>
  (await daemon.call<{ checks: { info: { warnings: string[] } } }>('GET', '/health', { token })).body.checks.info
    .warnings
const isServed = async (daemon: Daemon, name: string): Promise<boolean> =>
  (await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text.includes(`Package: ${name}\n`)

describe('without a signing key, without an antivirus engine, without vulnerability data', () => {
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    daemon = await startDaemon({ env: { CLAMD_SOCKET: undefined, CLAMD_HOST: undefined } })
    token = await daemon.setupAdmin()
  })
  afterAll(() => daemon.close())

  test('an engine that was never set up is called so in the upload, in Health and on the dashboard', async () => {
    const said = 'No antivirus engine is set up.'
    const meanwhile = `${said} Uploads are published with a warning.`
    expect(messageOf(await sent(daemon, token, 'first'), 'antivirus')).toBe(said)
    expect(await warnings(daemon, token)).toEqual([
      meanwhile,
      'No vulnerability data are loaded. Uploads are published with a warning.',
    ])
    const { alerts } = (await daemon.call<{ alerts: { message: string }[] }>('GET', '/dashboard/stats', { token })).body
    expect(alerts.map(({ message }) => message)).toEqual([
      meanwhile,
      '1 package that is served or waiting was not scanned in full: no engine with current data answered, or files inside were not opened.',
      '1 package waits for a decision.',
    ])
  })

  test('Engines warns in the words of Health', async () => {
    const { warning } = (await daemon.call<{ warning: string }>('GET', '/security/engines', { token })).body
    expect(await warnings(daemon, token)).toContain(warning)
  })

  test('an approved package that no index names is not said to be seen by clients', async () => {
    const { status, validation } = await sent(daemon, token, 'unsigned')
    expect([status, validation.publication]).toEqual([
      'pending_review',
      'It waits for review. Clients do not see it until somebody decides.',
    ])
    const decided = await daemon.call('POST', '/security/packages/unsigned/1/decide', {
      token,
      body: { decision: 'approve', justification: 'A test.' },
    })
    expect(decided.body).toMatchObject({
      status: 'published',
      published: false,
      publication: expect.stringMatching(/^The index does not name it yet\./) as string,
    })
    expect(await isServed(daemon, 'unsigned')).toBe(false)
  })
})

describe('with an engine that names its version and breaks at each scan', () => {
  let daemon: Daemon
  let token: string
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-words-'))
    await stubEngine(folder, {
      name: 'grype',
      version: '{"version":"0.80.0"}',
      db: { print: JSON.stringify({ valid: true, built: new Date().toISOString(), schemaVersion: 'v6' }) },
      scan: { does: 'crash' },
    })
    daemon = await startDaemon({ env: { PATH: `${folder}:${process.env.PATH ?? ''}` } })
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    const form = new FormData()
    const advisories = Array.from({ length: 150 }, (_, n) =>
      osvRecord(`UBUNTU-CVE-2026-${20_000 + n}`, [['Ubuntu:22.04:LTS', `filler${n}`, '']]),
    )
    form.set('file', new Blob([new Uint8Array(osvZip(advisories))]), 'all.zip')
    await daemon.call('POST', '/security/database', { token, form })
    await daemon.call('PATCH', '/settings/', {
      token,
      body: { validation: { on_scanner_unavailable: 'hold', clamav_scan: false } },
    })
  })
  afterAll(async () => {
    await daemon.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('packages are held, and Health and Engines name the engine; no other makes up for it', async () => {
    const held = await sent(daemon, token, 'held')
    expect([held.status, messageOf(held, 'vulnerabilities'), await isServed(daemon, 'held')]).toEqual([
      'pending_review',
      'grype does not answer: it was ended by SIGSEGV.',
      false,
    ])
    const said = 'grype does not answer. Uploads are held for review.'
    const { warning } = (await daemon.call<{ warning: string }>('GET', '/security/engines', { token })).body
    expect(warning).toBe(said)
    await expect.poll(() => warnings(daemon, token), { timeout: BACKGROUND_MS }).toContain(said)
    expect((await daemon.call('GET', '/security/grype/status', { token })).body).toMatchObject({
      available: false,
      status: 'unavailable',
    })
  })

  test('a policy that looks at a catalogue which is not loaded is said to miss it', async () => {
    await daemon.call('PATCH', '/settings/', { token, body: { cve_policy: { kev_action: 'review' } } })
    const said =
      'The policy looks at KEV, which is not loaded. Import it, or set the action to allow. Uploads with known vulnerabilities are held for review.'
    const { warning } = (await daemon.call<{ warning: string }>('GET', '/security/engines', { token })).body
    expect(warning).toContain(said)
    await expect.poll(() => warnings(daemon, token), { timeout: BACKGROUND_MS }).toContain(said)
  })

  test('a scan that is switched off is said to be so', async () => {
    const said = 'The antivirus scan is switched off, and uploads pass without it.'
    expect(await warnings(daemon, token)).toContain(said)
    expect((await daemon.call('GET', '/security/clamav/status', { token })).body.warning).toBe(said)
  })
})
