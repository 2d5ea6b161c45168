import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildImage, layerOf } from '../support/oci-images.ts'
import { createOciClient, rootWithRegistries } from '../support/oci-registry.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

let daemon: Daemon
let root: string
let token: string
let auth: string
beforeAll(async () => {
  root = await rootWithRegistries('images')
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  // as in production; there is no clamd here
  const validation = { on_scanner_unavailable: 'hold', clamav_scan: false }
  await daemon.call('PATCH', '/settings/', { token, body: { validation } })
  auth = `Basic ${Buffer.from(`person:${token}`).toString('base64')}`
  const form = new FormData()
  const records = [
    osvRecord('DEBIAN-CVE-2026-10002', [['Debian:12', 'openssl', '3.0.2-1']], {
      upstream: ['CVE-2026-10002'],
      ecosystem_specific: { urgency: 'high' },
    }),
    osvRecord('GHSA-crit-crit-crit', [['PyPI', 'worst', '2.0']], { database_specific: { severity: 'CRITICAL' } }),
  ]
  form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
  expect((await daemon.call('POST', '/security/database', { token, form })).status).toBe(200)
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

const STATUS = 'var/lib/dpkg/status'
const status = (version: string): string =>
  `Package: libssl3\nStatus: install ok installed\nArchitecture: amd64\nSource: openssl\nVersion: ${version}\n`
const debian = { name: 'etc/os-release', body: 'ID=debian\nVERSION_ID="12"\n' }
const base = (version: string) => layerOf(debian, { name: STATUS, body: status(version) })

let n = 0
async function push(...layers: readonly Buffer[]) {
  const name = `app${n++}`
  const image = buildImage({ layers })
  const pushed = await createOciClient(daemon.url, `images/${name}`, auth).push(image)
  expect([pushed.status, pushed.error]).toEqual([201, {}])
  const path = `/artifacts/${name}/${encodeURIComponent(image.digest)}?distribution=images`
  const { body, text } = await daemon.call('GET', path, { token })
  return {
    status: body.status,
    cves: (body.cves as { id: string; at: { purl: string } }[]).map(({ id, at }) => `${id} in ${at.purl}`),
    text,
  }
}

test('packages of the system count by their sources; a later layer that updates them does, too', async () => {
  expect(await push(base('3.0.1-1'))).toMatchObject({
    status: 'pending_review',
    cves: ['CVE-2026-10002 in pkg:deb/libssl3@3.0.1-1?arch=amd64&upstream=openssl%403.0.1-1'],
  })
  const updated = layerOf({ name: STATUS, body: status('3.0.2-1') })
  expect(await push(base('3.0.1-1'), updated)).toMatchObject({ status: 'published', cves: [] })
})

test('what languages brought counts as anywhere', async () => {
  const place = 'usr/local/lib/python3.11/site-packages'
  const lib = layerOf(
    { name: `${place}/worst/__init__.py`, body: '#' },
    { name: `${place}/worst-1.0.dist-info/METADATA`, body: 'Metadata-Version: 2.1\nName: worst\nVersion: 1.0\n' },
  )
  expect(await push(base('3.0.2-1'), lib)).toMatchObject({
    status: 'quarantined',
    cves: ['GHSA-crit-crit-crit in pkg:pypi/worst@1.0'],
  })
})

test('a system that no advisories are loaded for holds, as a database does that is not read', async () => {
  const other = layerOf(
    { name: 'etc/os-release', body: 'ID=debian\nVERSION_ID="99"\n' },
    { name: STATUS, body: status('3.0.1-1') },
  )
  const told = await push(other)
  expect(told).toMatchObject({ status: 'pending_review', cves: [] })
  expect(told.text).toContain('No advisories for debian-99 are loaded')
  expect(await push(layerOf({ name: 'var/lib/rpm/rpmdb.sqlite', body: 'SQLite' }))).toMatchObject({
    status: 'pending_review',
  })
})
