import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mustRun } from './tools.ts'

/** What a TLS server shows: its certificate with those above it, and the key. */
export interface Identity {
  readonly cert: string
  readonly key: string
}

/** A throw-away authority, as an appliance makes itself one. */
export interface Authority {
  /** PEM */
  readonly ca: string
  /** A new certificate of it. @param names  as in a certificate: `DNS:localhost`, `IP:127.0.0.1` */
  issue(names?: string, more?: { readonly withoutAuthority?: boolean; readonly days?: number }): Promise<Identity>
  close(): Promise<void>
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'] as const

/** Makes one with openssl. @param name  its common name; two of the same name are still two */
export async function createAuthority(name = 'Gatehouse appliance CA'): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-authority-'))
  const at = (file: string): string => join(folder, file)
  const [caKey, caCert] = [at('ca.key'), at('ca.crt')]
  await mustRun('openssl', [
    'req',
    '-x509',
    ...CURVE,
    '-days',
    '3650',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    caKey,
    '-out',
    caCert,
  ])
  const ca = await readFile(caCert, 'utf8')
  let n = 0
  return {
    ca,
    issue: async (names = 'DNS:localhost,IP:127.0.0.1', { withoutAuthority = false, days = 397 } = {}) => {
      const [key, request, cert, extensions] = ['key', 'csr', 'crt', 'ext'].map(ending => at(`leaf${n}.${ending}`)) as [
        string,
        string,
        string,
        string,
      ]
      n++
      await mustRun('openssl', ['req', ...CURVE, '-subj', '/CN=gatehouse-01', '-keyout', key, '-out', request])
      await writeFile(extensions, `subjectAltName=${names}`)
      const signed = ['-CA', caCert, '-CAkey', caKey, '-CAcreateserial', '-days', String(days), '-extfile', extensions]
      await mustRun('openssl', ['x509', '-req', '-in', request, ...signed, '-out', cert])
      const leaf = await readFile(cert, 'utf8')
      return { cert: withoutAuthority ? leaf : leaf + ca, key: await readFile(key, 'utf8') }
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

/** A certificate that signed itself, as servers without an authority have. */
export async function selfSigned(): Promise<Identity> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-self-'))
  try {
    const [key, cert] = [join(folder, 'key'), join(folder, 'crt')]
    const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
    await mustRun('openssl', [
      'req',
      '-x509',
      ...CURVE,
      '-days',
      '30',
      '-subj',
      '/CN=localhost',
      '-addext',
      names,
      '-keyout',
      key,
      '-out',
      cert,
    ])
    return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
