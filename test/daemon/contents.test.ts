import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, type FileSpec } from '../support/packages.ts'
import { buildZip, osvRecord, osvZip } from '../support/zip.ts'

let daemon: Daemon
let token: string

async function importData(...records: object[]): Promise<void> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
  const { status, text } = await daemon.call('POST', '/security/database', { token, form })
  expect([status, text]).toEqual([200, expect.anything()])
}

beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  // as in production: what could not be looked at is held; there is no clamd here
  await daemon.call('PATCH', '/settings/', {
    token,
    body: { validation: { on_scanner_unavailable: 'hold', clamav_scan: false } },
  })
  for (const codename of ['bookworm', 'trixie'])
    await daemon.call('POST', '/distributions/init', { token, body: { codename } })
  await importData(
    ...Array.from({ length: 150 }, (_, n) =>
      osvRecord(`DEBIAN-CVE-2026-${20_000 + n}`, [
        ['Debian:12', `filler${n}`, '1'],
        ['Debian:13', `filler${n}`, '1'],
      ]),
    ),
    osvRecord('GHSA-jfh8-c2jp-5v3q', [['Maven', 'org.apache.logging.log4j:log4j-core', '2.15.0']], {
      aliases: ['CVE-2021-44228'],
      severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H' }],
    }),
  )
})
afterAll(() => daemon.close())

const POM = 'META-INF/maven/org.apache.logging.log4j/log4j-core/pom.properties'
const log4j = (version: string): Buffer =>
  buildZip([
    { name: POM, body: `groupId=org.apache.logging.log4j\nartifactId=log4j-core\nversion=${version}\n` },
    { name: 'org/apache/logging/log4j/core/lookup/JndiLookup.class', body: 'x' },
  ])
const locked = buildZip([{ name: 'app.jar', body: 'x', flags: 1 }])

let n = 0
async function upload(files: Readonly<Record<string, FileSpec>>) {
  const name = `app${n++}`
  const bytes = await buildDeb({ name, version: '1.0', files })
  const { body } = await daemon.upload(bytes, { token, distribution: 'bookworm', filename: `${name}_1.0_amd64.deb` })
  const { text: index } = await daemon.call('GET', '/repos/dists/bookworm/main/binary-amd64/Packages')
  return {
    name,
    status: body.status,
    word: (body.pipeline as Record<string, string>).cve_scan,
    cves: (body.cves as { id: string; at?: { path: string } }[]).map(({ id, at }) => `${id} ${at?.path ?? ''}`),
    isServed: index.includes(`Package: ${name}\n`),
  }
}

test.each(['opt/app/lib/log4j-core-2.14.1.jar', 'usr/share/java/renamed.jar'])(
  'log4j 2.14.1 in %s is never served',
  async path => {
    expect(await upload({ [path]: log4j('2.14.1') })).toMatchObject({
      status: 'quarantined',
      word: 'findings',
      cves: [expect.stringMatching(`^CVE-2021-44228 ${path}`)],
      isServed: false,
    })
  },
)

test('a fixed one is published at once', async () => {
  expect(await upload({ 'opt/app/lib/log4j-core-2.17.1.jar': log4j('2.17.1') })).toMatchObject({
    status: 'published',
    word: 'no_findings',
    cves: [],
    isServed: true,
  })
})

test('what cannot be opened is held, and named in the report and in bills', async () => {
  const { name, ...answer } = await upload({ 'opt/app/data.zip': locked })
  expect(answer).toEqual({ status: 'pending_review', word: 'partial', cves: [], isServed: false })
  const { body } = await daemon.call('GET', `/artifacts/${name}/1.0`, { token })
  expect(JSON.stringify(body)).toContain('opt/app/data.zip!/app.jar (1 bytes) in it was not opened: It is encrypted.')
  expect((body.validation as { contents?: object }).contents).toEqual({
    shipped: 0,
    declared: 0,
    unopened: [{ path: 'opt/app/data.zip!/app.jar', size: 1, why: 'It is encrypted.' }],
  })
  const { body: bill } = await daemon.call('GET', `/sbom/${name}/1.0`, { token })
  expect(JSON.stringify(bill)).toContain('opt/app/data.zip!/app.jar')
})
