import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mustRun } from './tools.ts'

/** A developer with a key of their own in gpg's own keyring. */
export interface Developer {
  /** `GNUPGHOME`, for debsign and dput. */
  readonly home: string
  readonly fingerprint: string
  readonly publicKey: string
  /** Armoured and without a passphrase. */
  privateKey(): Promise<string>
  /** Clear-signs, as debsign does. @param digest as gpg names it */
  clearsign(text: string | Buffer, digest?: string): Promise<Buffer>
  close(): Promise<void>
}

/**
 * Makes a developer with gpg. @param expires  as gpg takes it: `1d`, `seconds=1`, `never`; @param time  when the key is
 * made, as `--faked-system-time` takes it
 */
export async function createDeveloper(
  user: string,
  {
    expires = 'never',
    kind = 'ed25519',
    time,
  }: { readonly expires?: string; readonly kind?: string; readonly time?: string } = {},
): Promise<Developer> {
  const home = await mkdtemp(join(tmpdir(), 'gh-gpg-'))
  const env = { GNUPGHOME: home }
  const gpg = (...args: readonly string[]): Promise<string> =>
    mustRun(
      'gpg',
      [
        '--batch',
        '--yes',
        '--pinentry-mode',
        'loopback',
        '--passphrase',
        '',
        ...(time === undefined ? [] : ['--faked-system-time', time]),
        ...args,
      ],
      { env },
    )
  await mustRun('chmod', ['700', home])
  await gpg('--quick-generate-key', user, kind, 'sign', expires)
  const [, fingerprint = ''] = /^fpr:+([0-9A-F]+):/m.exec(await gpg('--with-colons', '--list-keys')) ?? []
  return {
    home,
    fingerprint,
    publicKey: await gpg('--armor', '--export', fingerprint),
    privateKey: () => gpg('--armor', '--export-secret-keys', fingerprint),
    async clearsign(text, digest = 'SHA512') {
      const [plain, signed] = [join(home, 'plain'), join(home, 'plain.asc')]
      await writeFile(plain, text)
      await gpg('--digest-algo', digest, '--local-user', fingerprint, '--clearsign', '--output', signed, plain)
      return readFile(signed)
    },
    async close() {
      await mustRun('gpgconf', ['--kill', 'all'], { env })
      await rm(home, { recursive: true, force: true })
    },
  }
}
