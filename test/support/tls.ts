import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mustRun } from './tools.ts'

/** A throw-away authority and a certificate of it for `localhost` and 127.0.0.1. */
export interface TestTls {
  readonly folder: string
  /** PEM files. */
  readonly caPath: string
  readonly certPath: string
  readonly keyPath: string
  readonly ca: string
  readonly cert: string
  readonly key: string
  close(): Promise<void>
}

/** Makes them with openssl, on elliptic curves because that is quick. */
export async function createTls(): Promise<TestTls> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-tls-'))
  const at = (name: string): string => join(folder, name)
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'] as const
  await mustRun('openssl', [
    'req',
    '-x509',
    ...curve,
    '-days',
    '3650',
    '-subj',
    '/CN=test authority',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.crt'),
  ])
  await mustRun('openssl', [
    'req',
    ...curve,
    '-subj',
    '/CN=localhost',
    '-keyout',
    at('server.key'),
    '-out',
    at('server.csr'),
  ])
  await writeFile(at('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1')
  await mustRun('openssl', [
    'x509',
    '-req',
    '-in',
    at('server.csr'),
    '-CA',
    at('ca.crt'),
    '-CAkey',
    at('ca.key'),
    '-CAcreateserial',
    '-days',
    '3650',
    '-extfile',
    at('names'),
    '-out',
    at('server.crt'),
  ])
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', 'server.crt', 'server.key'].map(name => readFile(at(name), 'utf8')),
  )
  return {
    folder,
    caPath: at('ca.crt'),
    certPath: at('server.crt'),
    keyPath: at('server.key'),
    ca: ca ?? '',
    cert: cert ?? '',
    key: key ?? '',
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
