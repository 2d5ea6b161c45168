import { createHash } from 'node:crypto'
import type { Daemon } from './daemon.ts'
import { clientMetadata } from './maven-registry.ts'
import { createOciClient } from './oci-registry.ts'
import { buildNpm, type NpmSpec } from './packages-npm.ts'

/** Requests to registries as their clients send them. */
export interface RegistryCalls {
  /** `npm publish --tag`, with the attestation bundle of `--provenance` where there is one. */
  npm(registry: string, spec: NpmSpec, more?: { readonly tag?: string; readonly sigstore?: string }): Promise<void>
  /** `npm dist-tag add` */
  distTag(registry: string, name: string, tag: string, version: string): Promise<void>
  /** `npm deprecate` */
  deprecate(registry: string, name: string, said: Readonly<Record<string, string>>): Promise<void>
  /** `npm view --json`, without a credential. */
  packument<T>(registry: string, name: string): Promise<T>
  /** As twine sends it. */
  pypi(registry: string, file: { filename: string; bytes: Buffer }, more?: Record<string, string>): Promise<void>
  /** `mvn deploy` of these files by their endings, such as `.jar` and `-sources.jar`. */
  maven(registry: string, coordinates: string, files: Readonly<Record<string, Buffer | string>>): Promise<void>
  oci(registry: string, name: string): ReturnType<typeof createOciClient>
  /** One GET, without a credential. */
  get(
    path: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ status: number; bytes: Buffer; text: string }>
}

const digest = (algorithm: string, bytes: Buffer | string): string => createHash(algorithm).update(bytes).digest('hex')

export function registryCalls(daemon: Pick<Daemon, 'url'>, token: string): RegistryCalls {
  const bearer = { authorization: `Bearer ${token}` }
  async function must(method: string, path: string, init: RequestInit = {}): Promise<void> {
    const answer = await fetch(`${daemon.url}${path}`, {
      method,
      ...init,
      headers: { ...bearer, ...(init.headers as Record<string, string> | undefined) },
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  }
  const json = (body: unknown): RequestInit => ({
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  const at = (name: string): string => name.replace('/', '%2f')
  const get: RegistryCalls['get'] = async (path, headers = {}) => {
    const answer = await fetch(`${daemon.url}${path}`, { headers })
    const bytes = Buffer.from(await answer.arrayBuffer())
    return { status: answer.status, bytes, text: bytes.toString('utf8') }
  }
  return {
    get,
    async npm(registry, spec, { tag = 'latest', sigstore } = {}) {
      const { name, version } = spec
      const tarball = buildNpm(spec)
      const file = `${name.split('/').at(-1) ?? ''}-${version}`
      await must(
        'PUT',
        `/npm/${registry}/${at(name)}`,
        json({
          '_id': name,
          name,
          'dist-tags': { [tag]: version },
          'versions': {
            [version]: {
              name,
              version,
              ...spec.json,
              dist: {
                shasum: digest('sha1', tarball),
                integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
              },
            },
          },
          '_attachments': {
            [`${file}.tgz`]: { data: tarball.toString('base64'), length: tarball.length },
            ...(sigstore === undefined ? {} : { [`${file}.sigstore`]: { data: sigstore, length: sigstore.length } }),
          },
        }),
      )
    },
    distTag: (registry, name, tag, version) =>
      must('PUT', `/npm/${registry}/-/package/${at(name)}/dist-tags/${tag}`, json(version)),
    async deprecate(registry, name, said) {
      const versions = Object.fromEntries(
        Object.entries(said).map(([version, deprecated]) => [version, { name, version, deprecated }]),
      )
      await must('PUT', `/npm/${registry}/${at(name)}`, json({ _id: name, name, versions }))
    },
    async packument<T>(registry: string, name: string) {
      const { status, text } = await get(`/npm/${registry}/${at(name)}`)
      if (status !== 200) throw new Error(`${status} ${text}`)
      return JSON.parse(text) as T
    },
    async pypi(registry, { filename, bytes }, more = {}) {
      const form = new FormData()
      const fields = { ':action': 'file_upload', 'protocol_version': '1', 'sha256_digest': digest('sha256', bytes) }
      for (const [name, value] of Object.entries({ ...fields, ...more })) form.set(name, value)
      form.set('content', new Blob([new Uint8Array(bytes)]), filename)
      await must('POST', `/pypi/${registry}/legacy/`, { body: form })
    },
    async maven(registry, coordinates, files) {
      const [group = '', artifact = '', version = ''] = coordinates.split(':')
      const folder = `/maven/${registry}/${group.replaceAll('.', '/')}/${artifact}`
      const put = (path: string, body: Buffer | string): Promise<void> =>
        must('PUT', path, { body: typeof body === 'string' ? body : new Uint8Array(body) })
      for (const [ending, body] of Object.entries(files)) {
        const path = `${folder}/${version}/${artifact}-${version}${ending}`
        await put(path, body)
        await put(`${path}.sha1`, digest('sha1', body))
      }
      await put(`${folder}/maven-metadata.xml`, clientMetadata(group, artifact, version))
    },
    oci: (registry, name) =>
      createOciClient(daemon.url, `${registry}/${name}`, `Basic ${Buffer.from(`x:${token}`).toString('base64')}`),
  }
}
