import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { vi } from 'vitest'
import { startDaemon, type Daemon } from './daemon.ts'

/** One installation of two, as the tests of bundles use it. */
export interface Installation {
  readonly daemon: Daemon
  readonly token: string
  readonly fingerprint: string
  readonly key: string
}

export interface JobView {
  readonly job_id: string
  readonly status: string
  readonly result: Record<string, unknown> | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** An installation with an admin, a key and these distributions. */
export async function settle(daemon: Daemon, codenames: readonly string[]): Promise<Installation> {
  const token = await daemon.setupAdmin()
  for (const codename of codenames) await daemon.call('POST', '/distributions/init', { token, body: { codename } })
  const { text: key } = await daemon.call('GET', '/repos/gpg.key')
  const { body } = await daemon.call<{ key: { fingerprint: string } }>('GET', '/bundles', { token })
  return { daemon, token, key, fingerprint: body.key.fingerprint }
}

/** Waits until a job has ended. */
export async function ended({ daemon, token }: Installation, job: string): Promise<JobView> {
  return vi.waitFor(
    async () => {
      const { body } = await daemon.call<JobView>('GET', `/jobs/${job}`, { token })
      if (!['done', 'error', 'cancelled'].includes(body.status)) throw new Error(`job ${job} is ${body.status}`)
      return body
    },
    { timeout: 120_000, interval: 50 },
  )
}

/** Makes a bundle and writes it to a folder. @returns its path */
export async function makeBundle(
  hub: Installation,
  body: Readonly<Record<string, unknown>>,
  folder: string,
): Promise<{ readonly path: string; readonly name: string; readonly packages: number }> {
  const { daemon, token } = hub
  const wish = { vulnerability: false, antivirus: false, ...body }
  const asked = await daemon.call<{ job_id: string }>('POST', '/bundles', { token, body: wish })
  if (asked.status !== 202) throw new Error(asked.text)
  const job = await ended(hub, asked.body.job_id)
  if (job.status !== 'done') throw new Error(job.error?.message)
  const made = job.result as { id: number; name: string; packages: number }
  const answer = await fetch(`${daemon.url}/api/v1/bundles/${made.id}/download`, {
    headers: { Authorization: `Bearer ${token}` },
  })
  const path = join(folder, `${made.name}.bundle.tar`)
  await writeFile(path, Buffer.from(await answer.arrayBuffer()))
  return { path, name: made.name, packages: made.packages }
}

/** Sends a file as an upload in pieces. @returns its id */
export async function sendPieces({ daemon, token }: Installation, bytes: Buffer, name: string, piece = 2 ** 20) {
  const begun = await daemon.call<{ id: string; received: number }>('POST', '/bundles/uploads', {
    token,
    body: { file_name: name, size: bytes.length },
  })
  const { id } = begun.body
  for (let at = begun.body.received; at < bytes.length; at += piece) {
    const answer = await fetch(`${daemon.url}/api/v1/bundles/uploads/${id}?offset=${at}`, {
      method: 'PUT',
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
      body: new Uint8Array(bytes.subarray(at, at + piece)),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
  return id
}

/** Uploads a bundle and asks for its import. */
export async function askImport(
  site: Installation,
  bytes: Buffer,
  { name = 'some.bundle.tar', ...more }: { readonly name?: string; readonly allow_older?: boolean } = {},
) {
  const upload = await sendPieces(site, bytes, name)
  const { daemon, token } = site
  return daemon.call<{ job_id: string; missing: number[]; message: string; detail: string }>(
    'POST',
    '/bundles/import',
    { token, body: { upload, ...more } },
  )
}

/** Takes a bundle in and waits for its end. */
export async function importBundle(
  site: Installation,
  path: string,
): Promise<JobView & { readonly missing: number[] }> {
  const asked = await askImport(site, await readFile(path))
  if (asked.status !== 202) throw new Error(asked.text)
  return { ...(await ended(site, asked.body.job_id)), missing: asked.body.missing }
}

/** The receipt of a site for its first sender. */
export async function receiptOf({ daemon, token }: Installation): Promise<Buffer> {
  const { body } = await daemon.call<{ senders: { id: number }[] }>('GET', '/bundles/senders', { token })
  const answer = await fetch(`${daemon.url}/api/v1/bundles/senders/${body.senders[0]?.id ?? 0}/receipt`, {
    headers: { Authorization: `Bearer ${token}` },
  })
  if (!answer.ok) throw new Error(await answer.text())
  return Buffer.from(await answer.arrayBuffer())
}

export async function readReceipt({ daemon, token }: Installation, bytes: Buffer) {
  const answer = await fetch(`${daemon.url}/api/v1/bundles/receipts`, {
    method: 'POST',
    headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
    body: new Uint8Array(bytes),
  })
  return {
    status: answer.status,
    body: (await answer.json()) as { message: string; missing: number[]; detail: string },
  }
}

/** Each trusts the other: bundles go one way, receipts the other. */
export async function pinEachOther(hub: Installation, site: Installation, name: string): Promise<void> {
  await hub.daemon.call('POST', '/bundles/sites', { token: hub.token, body: { name } })
  await hub.daemon.call('PUT', `/bundles/sites/${name}/key`, { token: hub.token, body: { public_key: site.key } })
  const body = { name: 'hub', fingerprint: hub.fingerprint }
  const pinned = await site.daemon.call('POST', '/bundles/senders', { token: site.token, body })
  if (pinned.status !== 201) throw new Error(pinned.text)
}

/** Two services that trust each other, and the registries of each: bundles go from the hub to the site `north`. */
export async function startHubAndSite({
  codenames = ['bookworm'],
  registries = {},
  env = {},
}: {
  readonly codenames?: readonly string[]
  /** Format by name. Where there are any, packages pass that no engine looked at. */
  readonly registries?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
} = {}): Promise<{ readonly hub: Installation; readonly site: Installation }> {
  const start = async (): Promise<Installation> =>
    settle(await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600', ...env } }), codenames)
  const [hub, site] = await Promise.all([start(), start()])
  await pinEachOther(hub, site, 'north')
  const must = async ({ daemon, token }: Installation, method: string, path: string, body: object): Promise<void> => {
    const { status, text } = await daemon.call(method, path, { token, body })
    if (status >= 300) throw new Error(text)
  }
  const named = Object.entries(registries)
  for (const one of named.length === 0 ? [] : [hub, site]) {
    await must(one, 'PATCH', '/settings/', { validation: { clamav_scan: false, on_scanner_unavailable: 'warn' } })
    for (const [name, format] of named) await must(one, 'POST', '/registries/', { name, format })
  }
  return { hub, site }
}
