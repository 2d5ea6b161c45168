import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDaemon, type Answer, type Daemon, type DaemonOptions } from './daemon.ts'
import type { DebSpec } from './packages.ts'
import { createVendorKey, type VendorKey } from './upstream/key.ts'
import { serveUpstream, type Upstream } from './upstream/serve.ts'
import { writeAptTree } from './upstream/trees.ts'

/** A daemon with one signed APT source of its own, `elsewhere`, for bookworm, in place of those of Debian. */
export interface WithSource {
  readonly it: Daemon
  readonly upstream: Upstream
  readonly key: VendorKey
  /** Lies beside the trees. */
  readonly folder: string
  call<Body = Record<string, unknown>>(method: string, path: string, body?: object): Promise<Answer<Body>>
  /** The next state of the source, read into the catalogue. */
  offer(packages: readonly DebSpec[]): Promise<void>
  sync(): Promise<string>
  close(): Promise<void>
}

/** @param settings  more of them */
export async function startWithSource(options: DaemonOptions = {}, settings: object = {}): Promise<WithSource> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-source-'))
  const [it, key] = await Promise.all([startDaemon(options), createVendorKey()])
  const token = await it.setupAdmin()
  const upstream = await serveUpstream(join(folder, 'none'))
  const call: WithSource['call'] = (method, path, body) =>
    it.call(method, path, { token, ...(body === undefined ? {} : { body }) })
  async function done(answer: Promise<Answer>): Promise<void> {
    const { status, text } = await answer
    if (status >= 300) throw new Error(`${status}: ${text}`)
  }
  await done(call('POST', '/distributions/init', {}))
  await done(
    call('PATCH', '/settings/', {
      notifications: { allow_private_hosts: '127.0.0.1' },
      import: { base: 'none' },
      sources: { 'bookworm': false, 'bookworm-updates': false, 'bookworm-security': false },
      ...settings,
    }),
  )
  await done(call('POST', '/import/keys', { public_key: key.publicKey }))
  const wish = { name: 'Elsewhere', type: 'apt', url: upstream.url, distribution: 'bookworm', architectures: ['amd64'] }
  await done(call('POST', '/import/sources', { ...wish, keys: [key.fingerprint] }))
  let state = 0
  const sync = async (): Promise<string> => (await call('POST', '/import/sources/elsewhere/sync')).text
  return {
    ...{ it, upstream, key, folder, call, sync },
    async offer(packages) {
      const tree = join(folder, `state-${++state}`)
      await writeAptTree(tree, packages, { key, date: new Date(Date.now() - 600_000 + state * 1000) })
      upstream.serve(tree)
      const said = await sync()
      if (!said.includes('"status":"ok"') && !said.includes(`"count":${packages.length}`)) throw new Error(said)
    },
    async close() {
      await Promise.all([it.close(), upstream.close()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
