import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  binTag,
  buildRpm,
  encodeHeader,
  packRpm6,
  rpmParts,
  signatureHeader,
  stringsTag,
} from '../../../test/support/packages-rpm.ts'
import { spoolBytes, spoolPath } from '../../../test/support/packages.ts'
import { lacking, mustRun, run } from '../../../test/support/tools.ts'
import { inspect } from './inspect.ts'

const signal = new AbortController().signal

describe.skipIf([...lacking('rpm'), ...lacking('gnupg')].length > 0)('the signature of a package', () => {
  let folder: string
  const gpg = (...args: string[]): Promise<string> =>
    mustRun('gpg', [
      '--homedir',
      join(folder, 'gnupg'),
      '--batch',
      '--yes',
      '--pinentry-mode',
      'loopback',
      '--passphrase',
      '',
      ...args,
    ])
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rpm-signature-'))
    mkdirSync(join(folder, 'gnupg'), { mode: 0o700 })
    for (const [kind, name] of [
      ['rsa2048', 'rsa@example.test'],
      ['ed25519', 'ed@example.test'],
    ] as const)
      await gpg('--quick-generate-key', name, kind, 'sign')
  })
  afterAll(async () => {
    await run('gpgconf', ['--homedir', join(folder, 'gnupg'), '--kill', 'all'])
    await rm(folder, { recursive: true, force: true })
  })

  const spec = { name: 'signed', version: '1', release: '1' }
  async function signedBy(name: string, ...args: readonly string[]): Promise<string> {
    const { path } = await spoolBytes(folder, `${name}${args.join('')}.rpm`, await buildRpm(spec))
    await mustRun(
      'rpmsign',
      ['--define', `_gpg_name ${name}`, '--define', '__gpg /usr/bin/gpg', ...args, '--addsign', path],
      { env: { GNUPGHOME: join(folder, 'gnupg'), GPG_TTY: '/dev/null' } },
    )
    return path
  }
  /** What gpg says of the signature as we hand it on. */
  async function verify(path: string): Promise<number | null> {
    const { signature } = await inspect(await spoolPath(path), signal)
    if (signature === undefined) return null
    const chunks: Buffer[] = []
    for await (const chunk of signature.signed()) chunks.push(Buffer.from(chunk))
    writeFileSync(join(folder, 'signed'), Buffer.concat(chunks))
    writeFileSync(join(folder, 'signature'), signature.signature)
    return (
      await run('gpg', [
        '--homedir',
        join(folder, 'gnupg'),
        '--batch',
        '--verify',
        join(folder, 'signature'),
        join(folder, 'signed'),
      ])
    ).code
  }

  test.each(['rsa@example.test', 'ed@example.test'])(
    'of %s, by rpmsign, is given with the bytes it is over',
    async name => {
      expect(await verify(await signedBy(name))).toBe(0)
    },
  )

  test('of header and payload, beside that of the header: it is the header that counts', async () => {
    expect(await verify(await signedBy('rsa@example.test', '--rpmv3'))).toBe(0)
  })

  test('of header and payload alone is given with both', async () => {
    const bytes = await buildRpm(spec)
    const header = bytes.indexOf(Buffer.from('8eade801', 'hex'), 100)
    const path = join(folder, 'both')
    writeFileSync(path, bytes.subarray(header))
    await gpg('--local-user', 'rsa@example.test', '--detach-sign', path)
    const parts = await rpmParts(spec)
    const file = await spoolBytes(
      folder,
      'old.rpm',
      Buffer.concat([
        parts.lead,
        signatureHeader(encodeHeader(parts.tags, 63), parts.payload, parts.payloadBytes, [
          binTag(1002, await readFile(`${path}.sig`)),
        ]),
        bytes.subarray(header),
      ]),
    )
    expect(await verify(file.path)).toBe(0)
  })

  test('of the form of rpm 6 is given as it is', async () => {
    const parts = await rpmParts({ ...spec, large: true })
    const { payload: cpio } = await rpmParts({ ...spec, large: true, compression: 'none' })
    const unsigned = packRpm6(parts, cpio)
    const { header } = (await inspect(await spoolBytes(folder, 'v6.rpm', unsigned), signal)).facts
    writeFileSync(join(folder, 'header'), unsigned.subarray(...header))
    await gpg('--local-user', 'ed@example.test', '--detach-sign', join(folder, 'header'))
    const base64 = (await readFile(join(folder, 'header.sig'))).toString('base64')
    expect(
      await verify(
        (await spoolBytes(folder, 'v6-signed.rpm', packRpm6(parts, cpio, [stringsTag(278, [base64])]))).path,
      ),
    ).toBe(0)
  })

  test('that is none is not there', async () => {
    expect(await verify((await spoolBytes(folder, 'unsigned.rpm', await buildRpm(spec))).path)).toBeNull()
  })
})
