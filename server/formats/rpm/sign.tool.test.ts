import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  buildRpm,
  encodeHeader,
  rpmLead,
  rpmParts,
  signatureHeader,
  stringTag,
  stringsTag,
  binTag,
  int32Tag,
  type RpmSpec,
} from '../../../test/support/packages-rpm.ts'
import { spoolBytes } from '../../../test/support/packages.ts'
import { rpmbuild } from '../../../test/support/rpm-tools.ts'
import { lacking, mustRun, run } from '../../../test/support/tools.ts'
import { createSecretBox } from '../../lib/secret-box.ts'
import { createKeyring } from '../../signing/keyring.ts'
import type { Signer } from '../../signing/signer.ts'
import type { RpmFacts } from './facts.ts'
import { signRpm } from './sign.ts'
import { layoutOf } from '../../../test/support/repositories.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rpm-sign-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const noRpm = lacking('rpm').length > 0
// signing reads nothing of the facts but hands them on
const facts = { header: [0, 0], summary: 'kept' } as unknown as RpmFacts

async function createSigner(name: string, type: 'rsa4096' | 'ed25519Legacy'): Promise<Signer> {
  const layout = layoutOf(join(folder, name))
  await mkdir(layout.root)
  const keyring = createKeyring({ layout, box: createSecretBox('k'), clock: { now: () => new Date() } })
  await keyring.generate({ type, name: 'Test', email: 'test@example.test', overlapDays: 30 })
  return keyring.signer()
}

async function sign(bytes: Buffer, signer: Signer): Promise<{ readonly bytes: Buffer; readonly facts: RpmFacts }> {
  const file = await spoolBytes(folder, 'x.rpm', bytes)
  try {
    const signed = await signRpm(file, { facts, signer })
    const chunks: Buffer[] = []
    for await (const chunk of signed.bytes) chunks.push(chunk)
    return { bytes: Buffer.concat(chunks), facts: signed.facts }
  } finally {
    await file.discard()
  }
}

/** rpm with a database that knows these keys alone. */
async function rpmkeys(
  bytes: Buffer,
  signer: Signer,
  level = 'all',
): Promise<{ readonly code: number | null; readonly said: string }> {
  const home = await mkdtemp(join(folder, 'db-'))
  await writeFile(join(home, 'key.asc'), signer.publicKey('armored'))
  await writeFile(join(home, 'x.rpm'), bytes)
  await mustRun('rpmkeys', ['--dbpath', home, '--import', join(home, 'key.asc')])
  const { code, out, err } = await run('rpmkeys', [
    '--dbpath',
    home,
    '--define',
    `_pkgverify_level ${level}`,
    '-Kv',
    join(home, 'x.rpm'),
  ])
  return { code, said: out + err }
}

const SPEC: RpmSpec = {
  name: 'hello',
  version: '1.0',
  release: '1',
  files: { 'usr/bin/hello': 'hi\n' },
  requires: ['/bin/sh'],
}

describe.each(['rsa4096', 'ed25519Legacy'] as const)('a package signed by a key of type %s', type => {
  let signer: Signer
  beforeAll(async () => {
    signer = await createSigner(type, type)
  }, 60_000)

  test('holds header and payload as they were, and says where the header lies now', async () => {
    const before = await buildRpm(SPEC)
    const {
      bytes,
      facts: { header, summary },
    } = await sign(before, signer)
    expect(summary).toBe('kept')
    expect(bytes.subarray(header[0], header[0] + 4).toString('hex')).toBe('8eade801')
    expect(before.includes(bytes.subarray(header[0]))).toBe(true)
    expect(createHash('sha256').update(bytes).digest('hex')).not.toBe(createHash('sha256').update(before).digest('hex'))
  })

  test.skipIf(noRpm)(
    'is accepted by rpmkeys at the strictest level, and not after a changed byte or with another key (needs rpm)',
    async () => {
      const before = await buildRpm(SPEC)
      expect((await rpmkeys(before, signer)).code).toBe(1)
      const {
        bytes,
        facts: { header },
      } = await sign(before, signer)
      expect(await rpmkeys(bytes, signer)).toMatchObject({
        code: 0,
        said: expect.stringMatching(/Header V4 (RSA|EdDSA)\/SHA512 Signature, key ID [0-9a-f]+: OK/) as string,
      })
      const changed = (at: number): Buffer => {
        const copy = Buffer.from(bytes)
        copy[at] = (copy[at] ?? 0) ^ 1
        return copy
      }
      expect((await rpmkeys(changed(bytes.length - 5), signer)).code).toBe(1)
      expect((await rpmkeys(changed(header[1] - 40), signer)).code).toBe(1)
      expect(await rpmkeys(bytes, await createSigner(`other-${type}`, 'ed25519Legacy'))).toMatchObject({
        code: 1,
        said: expect.stringContaining('NOKEY') as string,
      })
    },
  )

  test.skipIf(noRpm)('signed again it carries the new signature alone (needs rpm)', async () => {
    const other = await createSigner(`first-${type}`, 'ed25519Legacy')
    const { bytes } = await sign((await sign(await buildRpm(SPEC), other)).bytes, signer)
    const { code, said } = await rpmkeys(bytes, signer)
    expect({ code, signatures: said.match(/Signature, key ID/g)?.length }).toEqual({ code: 0, signatures: 1 })
  })
})

describe('whatever the package', () => {
  let signer: Signer
  beforeAll(async () => {
    signer = await createSigner('any', 'ed25519Legacy')
  })

  test.skipIf(noRpm)('its header stays aligned to eight bytes (needs rpm)', async () => {
    const { lead, tags, payload, payloadBytes } = await rpmParts(SPEC)
    const main = encodeHeader(tags, 63)
    for (const length of [0, 1, 2, 3, 4, 5, 6, 7]) {
      const odd = signatureHeader(main, payload, payloadBytes, [stringTag(290, 'x'.repeat(length))])
      const {
        bytes,
        facts: { header },
      } = await sign(Buffer.concat([lead, odd, main, payload]), signer)
      expect(header[0] % 8).toBe(0)
      expect((await rpmkeys(bytes, signer)).code).toBe(0)
    }
  })

  test.skipIf(noRpm)('what rpmbuild made is signed, too, and rpm reads the same from it (needs rpm)', async () => {
    const [path = ''] = await rpmbuild(
      folder,
      'Name: built\nVersion: 1\nRelease: 1\nSummary: s\nLicense: MIT\n%description\nd\n%install\nmkdir -p %{buildroot}/usr/bin\necho hi > %{buildroot}/usr/bin/built\n%files\n/usr/bin/built\n',
    )
    const { bytes } = await sign(await readFile(path), signer)
    expect((await rpmkeys(bytes, signer)).code).toBe(0)
    const signed = join(folder, 'signed.rpm')
    await writeFile(signed, bytes)
    const dump = (of: string): Promise<string> =>
      mustRun('rpm', ['-qp', '--nosignature', '--dump', '--requires', '--provides', of])
    expect(await dump(signed)).toBe(await dump(path))
  })

  test('a package of format 6 holds its signature as text', async () => {
    const { tags, payload, payloadBytes } = await rpmParts(SPEC)
    const header = encodeHeader([...tags, int32Tag(5114, [6])], 63)
    const { bytes } = await sign(
      Buffer.concat([
        rpmLead('hello'),
        signatureHeader(header, payload, payloadBytes, [stringsTag(278, ['b2xk'])]),
        header,
        payload,
      ]),
      signer,
    )
    const text = bytes.subarray(96, 96 + 2000).toString('latin1')
    const [, signature = ''] = /([A-Za-z0-9+/=]{100,})\0/.exec(text) ?? []
    const armored = `-----BEGIN PGP SIGNATURE-----\n\n${signature}\n-----END PGP SIGNATURE-----\n`
    expect(await signer.verifyDetached(header, armored)).toBe(true)
    expect(text).not.toContain('b2xk')
  })

  test.each([
    ['is cut off in its signature header', (bytes: Buffer) => bytes.subarray(0, 200), /cut off|does not begin/],
    [
      'has no second header',
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 96), signatureHeader(Buffer.alloc(0), Buffer.alloc(0), 0)]),
      /does not begin/,
    ],
    [
      'has a value outside its header',
      (bytes: Buffer) => {
        const copy = Buffer.from(bytes)
        copy.writeUInt32BE(0x00ffffff, 96 + 16 + 16 + 8)
        return copy
      },
      /outside its header/,
    ],
    [
      'has a header of two gigabytes',
      (bytes: Buffer) => {
        const copy = Buffer.from(bytes)
        copy.writeUInt32BE(0x7fffffff, 96 + 12)
        return copy
      },
      /too large/,
    ],
  ] as const)('one that %s is refused', async (_, bend, why) => {
    await expect(sign(bend(await buildRpm({ ...SPEC, requires: [] })), signer)).rejects.toMatchObject({
      code: 'bad_package',
      facts: { why: expect.stringMatching(why) as string },
    })
  })

  test('an old signature over header and payload goes', async () => {
    const { tags, payload, payloadBytes } = await rpmParts(SPEC)
    const header = encodeHeader(tags, 63)
    const old = signatureHeader(header, payload, payloadBytes, [
      binTag(1002, Buffer.from('an old signature')),
      binTag(1008, Buffer.alloc(4000)),
    ])
    const { bytes } = await sign(Buffer.concat([rpmLead('hello'), old, header, payload]), signer)
    expect(bytes.includes('an old signature')).toBe(false)
    expect(bytes.length).toBeLessThan(4000)
  })
})
