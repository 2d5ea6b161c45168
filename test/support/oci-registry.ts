import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_DISTRIBUTIONS } from '../../server/core/default-distributions.ts'
import type { Codename } from '../../server/core/identity.ts'
import type { Distribution } from '../../server/core/repository.ts'
import { sha256, type BuiltImage } from './oci-images.ts'

/** A root whose definitions name these registries, for a daemon that has made none yet. */
export async function rootWithRegistries(...codenames: readonly string[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'gh-oci-'))
  const [jammy] = DEFAULT_DISTRIBUTIONS as readonly [Distribution]
  const { basedOn: _, endOfLife: __, scanner: ___, ...rest } = jammy as Distribution & { readonly basedOn?: Codename }
  const definitions = codenames.map(codename => ({
    ...rest,
    ...{ kind: 'registry', registry: { kind: 'hosted' }, codename, format: 'oci', label: codename },
    ...{ archs: [], neutral: [], components: ['main'], state: 'active', builtin: false },
  }))
  await writeFile(join(root, 'distributions.json'), JSON.stringify(definitions))
  return root
}

export interface OciAsk {
  readonly auth?: string | undefined
  readonly body?: Buffer | string
  readonly headers?: Readonly<Record<string, string>>
}
export interface OciAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  /** The first error, as clients show it. */
  readonly error: { readonly code?: string; readonly message?: string }
  json<T>(): T
}

/** A client of one repository that sends what it is told to, and nothing else. */
export function createOciClient(url: string, repository: string, defaultAuth?: string) {
  const base = `/v2/${repository}`
  async function ask(
    method: string,
    path: string,
    { auth = defaultAuth, body, headers = {} }: OciAsk = {},
  ): Promise<OciAnswer> {
    const answer = await fetch(new URL(path, url), {
      method,
      redirect: 'manual',
      headers: { ...(auth === undefined || auth === '' ? {} : { authorization: auth }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const json = <T>(): T => JSON.parse(bytes.toString('utf8')) as T
    let error: OciAnswer['error'] = {}
    if (answer.status >= 400 && bytes.length > 0)
      error = json<{ errors?: readonly OciAnswer['error'][] }>().errors?.[0] ?? {}
    return { status: answer.status, headers: answer.headers, bytes, error, json }
  }
  const pushBlob = (bytes: Buffer): Promise<OciAnswer> =>
    ask('POST', `${base}/blobs/uploads/?digest=${sha256(bytes)}`, { body: bytes })
  return {
    base,
    ask,
    pushBlob,
    /** Everything that an image has, then its manifest. */
    async push(
      { manifest, mediaType, config, layers, digest }: BuiltImage,
      reference: string = digest,
    ): Promise<OciAnswer> {
      for (const blob of [...(config.length === 0 ? [] : [config]), ...layers]) {
        const { status, error } = await pushBlob(blob)
        if (status !== 201) throw new Error(`the blob was answered with ${status}: ${error.message ?? ''}`)
      }
      return ask('PUT', `${base}/manifests/${reference}`, { body: manifest, headers: { 'content-type': mediaType } })
    },
    manifest: (reference: string, more?: OciAsk) => ask('GET', `${base}/manifests/${reference}`, more),
  }
}
