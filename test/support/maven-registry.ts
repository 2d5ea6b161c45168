import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDaemon, type Daemon } from './daemon.ts'

/** One answer, with the text after its status. */
export interface Got {
  readonly status: number
  readonly reason: string
  readonly text: string
  readonly headers: Headers
}

export interface Deployed {
  readonly group?: string
  readonly artifact?: string
  /** As the names of the files say it. */
  readonly version: string
  /** What follows artifact and version in each name: `.jar`, `-sources.jar`. */
  readonly files: Readonly<Record<string, Buffer | string>>
  readonly token?: string
}

/** A daemon with the Maven registry `ours`, and requests as clients send them. */
export interface MavenRegistry {
  readonly daemon: Daemon
  /** Of an admin. */
  readonly token: string
  readonly address: string
  get(path: string, token?: string): Promise<Got>
  put(path: string, body: Buffer | string, token?: string): Promise<Got>
  send(method: string, path: string, token?: string): Promise<Got>
  /** All requests of one `mvn deploy`, in its order; ends with the first that is refused. */
  deploy(what: Deployed): Promise<Got>
  apiToken(name: string, role: string, distributions?: readonly string[]): Promise<string>
  /** Whether what has no scan waits for a person. */
  holds(isHeld: boolean): Promise<void>
  /** Decides on a version, as a person does. */
  decide(name: string, version: string, action: 'approve' | 'reject' | 'quarantine'): Promise<void>
  close(): Promise<void>
}

const digest = (algorithm: string, body: Buffer | string): string => createHash(algorithm).update(body).digest('hex')

/** A client's own list of versions, which ends its deploy. */
export const clientMetadata = (group: string, artifact: string, version: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<metadata><groupId>${group}</groupId><artifactId>${artifact}</artifactId><versioning><release>${version}</release><versions><version>${version}</version></versions><lastUpdated>20261122094857</lastUpdated></versioning></metadata>\n`

/** The snapshot that a build belongs to. */
const folderOf = (version: string): string => version.replace(/-\d{8}\.\d{6}-\d+$/, '-SNAPSHOT')

/** Starts it. @param rules  of the registry beside its kind */
export async function startMavenRegistry(rules: { readonly snapshotsKept?: number } = {}): Promise<MavenRegistry> {
  const root = await mkdtemp(join(tmpdir(), 'gh-maven-root-'))
  await mkdir(root, { recursive: true })
  const registry = {
    kind: 'registry',
    registry: { kind: 'hosted', ...rules },
    codename: 'ours',
    format: 'maven',
    label: 'Our artifacts',
    archs: [],
    neutral: ['any'],
    components: ['main'],
    release: { suite: 'ours', origin: 'Gatehouse', label: 'Gatehouse', description: 'Our artifacts' },
    state: 'active',
    builtin: false,
  }
  // a daemon that starts for the first time takes its repositories from there
  await writeFile(join(root, 'distributions.json'), JSON.stringify([registry]))
  const daemon = await startDaemon({ root })
  const token = await daemon.setupAdmin()
  const address = `${daemon.url}/maven/ours`

  async function ask(method: string, path: string, credential?: string, body?: Buffer | string): Promise<Got> {
    const response = await fetch(`${address}/${path}`, {
      method,
      redirect: 'manual',
      headers:
        credential === undefined
          ? {}
          : { Authorization: `Basic ${Buffer.from(`gatehouse:${credential}`).toString('base64')}` },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
    })
    return {
      status: response.status,
      reason: response.statusText,
      text: await response.text(),
      headers: response.headers,
    }
  }
  const put = (path: string, body: Buffer | string, credential = token): Promise<Got> =>
    ask('PUT', path, credential, body)

  async function deploy({ group = 'org.example', artifact = 'lib', version, files, ...as }: Deployed): Promise<Got> {
    const folder = `${group.replaceAll('.', '/')}/${artifact}`
    const base = folderOf(version)
    const sent: [string, Buffer | string][] = Object.entries(files).flatMap(([end, body]) => {
      const path = `${folder}/${base}/${artifact}-${version}${end}`
      return [
        [path, body] as [string, Buffer | string],
        [`${path}.sha1`, digest('sha1', body)],
        [`${path}.md5`, digest('md5', body)],
      ]
    })
    const lists = [...(base === version ? [] : [`${folder}/${base}`]), folder].flatMap(at => {
      const list = clientMetadata(group, artifact, base)
      const path = `${at}/maven-metadata.xml`
      return [
        [path, list] as [string, string],
        [`${path}.sha1`, digest('sha1', list)],
        [`${path}.md5`, digest('md5', list)],
      ]
    })
    let last: Got | undefined
    for (const [path, body] of [...sent, ...lists]) {
      last = await put(path, body, as.token)
      if (last.status >= 300) return last
    }
    if (last === undefined) throw new Error('nothing was sent')
    return last
  }

  async function settings(body: object): Promise<void> {
    const answer = await daemon.call('PATCH', '/settings/', { token, body })
    if (answer.status !== 200) throw new Error(answer.text)
  }

  await settings({ validation: { on_scanner_unavailable: 'warn' } })
  return {
    daemon,
    token,
    address,
    put,
    deploy,
    get: (path, credential) => ask('GET', path, credential),
    send: ask,
    async apiToken(name, role, distributions) {
      const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
        token,
        body: { name, roles: [role], ...(distributions === undefined ? {} : { scopes: { distributions } }) },
      })
      if (made.status !== 201) throw new Error(made.text)
      return made.body.token
    },
    holds: isHeld => settings({ validation: { on_scanner_unavailable: isHeld ? 'hold' : 'warn' } }),
    async decide(name, version, action) {
      const at = `/security/packages/${encodeURIComponent(name)}/${encodeURIComponent(version)}`
      const where = { distribution: 'ours', arch: 'any', justification: 'It was looked at for this test.' }
      const answer =
        action === 'quarantine'
          ? await daemon.call('POST', `${at}/quarantine`, { token, body: where })
          : await daemon.call('POST', `${at}/decide`, { token, body: { ...where, decision: action } })
      if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`)
    },
    async close() {
      await daemon.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}
