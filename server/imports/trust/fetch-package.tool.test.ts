import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { binTag, encodeHeader, rpmParts, signatureHeader } from '../../../test/support/packages-rpm.ts'
import { lacking } from '../../../test/support/tools.ts'
import { createVendorKey, type VendorKey } from '../../../test/support/upstream/key.ts'
import { createTestReach } from '../../../test/support/upstream/reach.ts'
import { serveUpstream, type Upstream } from '../../../test/support/upstream/serve.ts'
import { writeRpmRepository } from '../../../test/support/upstream/trees.ts'
import { rpm } from '../../formats/rpm/index.ts'
import { trustKeys } from '../../signing/trusted-keys.ts'
import type { UpstreamFile } from '../reach/download.ts'
import type { Source } from '../source.ts'
import { createFetchPackage } from './fetch-package.ts'

const lacks = lacking('createrepo-c')
if (lacks.length > 0) console.warn(`skipped: packages of unsigned repositories, for want of ${lacks.join(', ')}`)

/** A package whose header is signed as many vendors do, or by nobody. */
async function build(name: string, key?: VendorKey): Promise<{ name: string; bytes: Buffer }> {
  const { tags, lead, payload, payloadBytes } = await rpmParts({ name, version: '1.0', release: '1' })
  const header = encodeHeader(tags, 63)
  const signatures = key === undefined ? [] : [binTag(268, key.signV3(header, new Date('2026-01-01')))]
  const bytes = Buffer.concat([lead, signatureHeader(header, payload, payloadBytes, signatures), header, payload])
  return { name: `${name}-1.0-1.x86_64`, bytes }
}

describe.skipIf(lacks.length > 0)('a package of a repository whose index nobody signs', () => {
  let folder: string
  let upstream: Upstream
  let vendor: VendorKey
  const files = new Map<string, UpstreamFile>()
  const { reach, close } = createTestReach()
  const signal = new AbortController().signal

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-unsigned-'))
    const [own, stranger] = [await createVendorKey(), await createVendorKey()]
    vendor = own
    await writeRpmRepository(join(folder, 'tree'), [
      await build('good', own),
      await build('foreign', stranger),
      await build('bare'),
    ])
    upstream = await serveUpstream(join(folder, 'tree'))
    const { fetch } = reach.open({ kind: 'http', format: 'rpm', urls: [upstream.url] }, { signal })
    const keys = await trustKeys({ openpgp: [], rsa: new Map(), now: () => new Date() })
    const opened = await rpm.upstream?.open({ fetch, keys, now: new Date(), unsigned: true })
    for await (const entry of opened?.entries() ?? []) {
      const read = entry.read()
      files.set(read.identity.name, read)
    }
  })
  afterAll(async () => {
    close()
    await upstream.close()
    await rm(folder, { recursive: true, force: true })
  })

  const fetchIt = (name: string, signed = false): Promise<string> => {
    const keysFor = () => trustKeys({ openpgp: [vendor.publicKey], rsa: new Map(), now: () => new Date() })
    const source = { kind: 'http', format: 'rpm', urls: [upstream.url], signed, keys: [vendor.fingerprint] }
    const file = files.get(name) as UpstreamFile
    return createFetchPackage({ reach, keysFor })(source as unknown as Source, file, {
      folder: join(folder, 'in'),
      signal,
    })
  }

  test('comes where its vendor signed it', async () => {
    expect(existsSync(await fetchIt('good'))).toBe(true)
    // an index that is signed vouches for what it lists
    expect(existsSync(await fetchIt('bare', true))).toBe(true)
  })

  test.each(['foreign', 'bare'])('is refused and removed where it is %s', async name => {
    await rm(join(folder, 'in'), { recursive: true, force: true })
    await expect(fetchIt(name)).rejects.toMatchObject({ code: 'upstream_refused', facts: { fault: 'untrusted' } })
    expect(await readdir(join(folder, 'in'))).toEqual([])
  })
})
