import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApkKey, createVendorKey, type ApkKey, type VendorKey } from '../../../test/support/upstream/key.ts'
import { createTestReach } from '../../../test/support/upstream/reach.ts'
import { serveUpstream, type Upstream } from '../../../test/support/upstream/serve.ts'
import { writeApkRepository, writeAptTree, writeRpmRepository } from '../../../test/support/upstream/trees.ts'
import { lacking } from '../../../test/support/tools.ts'
import { getFormat } from '../../formats/index.ts'
import { trustKeys } from '../../signing/trusted-keys.ts'

const lacks = lacking('createrepo-c')
if (lacks.length > 0) console.warn(`skipped: rpm repositories over HTTP, for want of ${lacks.join(', ')}`)

let folder = ''
let upstream: Upstream
let key: VendorKey
let apkKey: ApkKey
const { reach, close } = createTestReach()
const signal = new AbortController().signal

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-formats-'))
  key = await createVendorKey()
  apkKey = createApkKey()
  upstream = await serveUpstream(folder)
})
afterAll(async () => {
  close()
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})

/** Reads an index over HTTP and downloads every package of it. */
async function readAll(format: 'deb' | 'rpm' | 'apk', more: { suite?: string; archs?: string[] }) {
  const source = { kind: 'http', format, urls: [`${upstream.url}${format}/`] } as const
  const keys = await trustKeys({
    openpgp: [key.publicKey],
    rsa: new Map([[apkKey.keyName, apkKey.publicKey]]),
    now: () => new Date(),
  })
  const { fetch } = reach.open(source, { signal })
  const opened = await getFormat(format).upstream?.open({ fetch, keys, now: new Date(), ...more })
  const found = []
  for await (const entry of opened?.entries() ?? []) {
    const { identity, path, size, digests, controlSha1 } = entry.read()
    const file = { path, size, digests, controlSha1 }
    const bytes = await readFile(await reach.download(source, file, { folder: join(folder, 'in'), signal }))
    found.push([identity.name, identity.version, bytes.length === size])
  }
  return { found, by: opened?.roots[0]?.signedBy }
}

test('an APT repository over HTTP', async () => {
  const packages = [
    { name: 'one', version: '1:1.0+b1' },
    { name: 'two', version: '2.0', arch: 'all' },
  ]
  await writeAptTree(join(folder, 'deb'), packages, { key })
  expect(await readAll('deb', { suite: 'bookworm', archs: ['amd64'] })).toEqual({
    found: [
      ['one', '1:1.0+b1', true],
      ['two', '2.0', true],
    ],
    by: [key.fingerprint],
  })
})

test.skipIf(lacks.length > 0)('an RPM repository over HTTP', async () => {
  await writeRpmRepository(join(folder, 'rpm'), [{ name: 'one', version: '1.0~rc+1', release: '1' }], { key })
  expect(await readAll('rpm', {})).toEqual({ found: [['one', '1.0~rc+1-1', true]], by: [key.fingerprint] })
})

test('an APK repository over HTTP, whose packages are known by their control member', async () => {
  await writeApkRepository(join(folder, 'apk'), [{ name: 'one', version: '1.0-r0' }], { key: apkKey })
  expect(await readAll('apk', { archs: ['x86_64'] })).toEqual({
    found: [['one', '1.0-r0', true]],
    by: [apkKey.keyName],
  })
  // one without the data that the index means
  upstream.rules({ match: 'one-1.0-r0.apk', fault: 'flip', at: 700 })
  await rm(join(folder, 'in'), { recursive: true })
  await expect(readAll('apk', { archs: ['x86_64'] })).rejects.toMatchObject({ code: 'upstream_refused' })
})
