import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { binTag, encodeHeader, rpmParts, signatureHeader } from '../../../test/support/packages-rpm.ts'
import { lacking, mustRun, run } from '../../../test/support/tools.ts'
import { createVendorKey, type VendorKey } from '../../../test/support/upstream/key.ts'
import { trustKeys } from '../../signing/trusted-keys.ts'
import { verifyRpm } from './verify.ts'

const noRpm = lacking('rpm').length > 0
const AT = new Date('2026-01-01')
let folder = ''
let vendor: VendorKey
let stranger: VendorKey
let header: Buffer
let payload: Buffer
let lead: Buffer
let payloadBytes = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rpm-verify-'))
  vendor = await createVendorKey()
  stranger = await createVendorKey()
  const parts = await rpmParts({ name: 'one', version: '1.0', release: '1' })
  header = encodeHeader(parts.tags, 63)
  ;({ payload, lead, payloadBytes } = parts)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A package with these signatures of its header. */
const pack = (...signatures: readonly (readonly [tag: number, signature: Buffer])[]): Buffer =>
  Buffer.concat([
    lead,
    signatureHeader(
      header,
      payload,
      payloadBytes,
      signatures.map(([tag, signature]) => binTag(tag, signature)),
    ),
    header,
    payload,
  ])

async function verify(bytes: Buffer): Promise<string> {
  const path = join(folder, 'x.rpm')
  await writeFile(path, bytes)
  const keys = await trustKeys({ openpgp: [vendor.publicKey], rsa: new Map(), now: () => new Date() })
  const said = await verifyRpm(path, keys).catch((error: unknown) => ({ why: (error as { why: string }).why }))
  return 'why' in said ? said.why : said.by.join()
}

/** What rpm itself says, with a database that knows the vendor's key alone. */
async function rpmkeys(bytes: Buffer): Promise<boolean> {
  const home = await mkdtemp(join(folder, 'db-'))
  await writeFile(join(home, 'key.asc'), vendor.publicKey)
  await writeFile(join(home, 'x.rpm'), bytes)
  await mustRun('rpmkeys', ['--dbpath', home, '--import', join(home, 'key.asc')])
  const level = ['--define', '_pkgverify_level all']
  return (await run('rpmkeys', ['--dbpath', home, ...level, '-K', join(home, 'x.rpm')])).code === 0
}

const flip = (bytes: Buffer, at: number): Buffer => {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] ?? 0) ^ 1
  return changed
}

describe.each([
  ['3', () => vendor.signV3(header, AT), () => stranger.signV3(header, AT), () => vendor.signV3(payload, AT)],
  [
    '4',
    () => vendor.detach(header, AT, 'binary'),
    () => stranger.detach(header, AT, 'binary'),
    () => vendor.detach(payload, AT, 'binary'),
  ],
] as const)('a package with an OpenPGP signature of version %s', (_version, own, foreign, ofOther) => {
  test('is known by its vendor, as rpm knows it', async () => {
    const bytes = pack([268, await own()])
    expect(await verify(bytes)).toBe(vendor.fingerprint)
    if (!noRpm) expect(await rpmkeys(bytes)).toBe(true)
  })

  test('is refused when somebody else signed, or something else was signed, or bytes were changed', async () => {
    for (const bytes of [pack([268, await foreign()]), pack([268, await ofOther()])]) {
      expect(await verify(bytes)).toContain('none of its signatures is good')
      if (!noRpm) expect(await rpmkeys(bytes)).toBe(false)
    }
    const bytes = pack([268, await own()])
    for (const at of [bytes.length - 10, bytes.length - payload.length - 40]) {
      expect(await verify(flip(bytes, at))).not.toBe(vendor.fingerprint)
      if (!noRpm) expect(await rpmkeys(flip(bytes, at))).toBe(false)
    }
  })
})

test('a package without a signature is refused', async () => {
  expect(await verify(pack())).toBe('the package carries no signature')
})

test('a header signature over no digest of the payload is refused: the payload could be anybody’s', async () => {
  const parts = await rpmParts({ name: 'one', version: '1.0', release: '1' })
  const bare = encodeHeader(
    parts.tags.filter(({ tag }) => ![5092, 5093, 5097].includes(tag)),
    63,
  )
  const signature = binTag(268, vendor.signV3(bare, AT))
  const bytes = Buffer.concat([lead, signatureHeader(bare, payload, payloadBytes, [signature]), bare, payload])
  expect(await verify(bytes)).toBe('its signature covers the header and not the payload')
})
