import { createPublicKey, sign, type KeyObject } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import semver from 'semver'
import tar from 'tar-stream'
import { NEWEST_SCHEMA } from '../server/db/migrate.ts'
import { sha256Of } from '../server/lib/digest-file.ts'
import { MANIFEST, readUpdate, SIGNATURE, type UpdateManifest } from './machine/update/manifest.ts'

export interface UpdateOptions {
  /** `gatehouse-VERSION-linux-ARCH.tar.zst`, as `makeBundle` writes it. */
  readonly bundle: string
  /** The vendor's private key, Ed25519. */
  readonly key: KeyObject
  readonly out: string
  /** ISO 8601. */
  readonly madeAt: string
  readonly changes: readonly string[]
  /** The oldest release that takes it. */
  readonly updatesFrom: string
}

/** The lines of a file of changes: `fix: …` or `new: …`. @throws Error for another line */
export async function readChanges(path: string): Promise<string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').map(line => line.trim())
  const changes = lines.filter(line => line !== '' && !line.startsWith('#'))
  const wrong = changes.find(line => !/^(fix|new): .{1,280}$/.test(line))
  if (wrong !== undefined) throw new Error(`${path}: "${wrong}" is no change. Write a line each, as fix: … or new: …`)
  return changes
}

/**
 * Writes a signed update: a tar of the manifest, its signature and the bundle, in this order, so that a machine
 * believes nothing before it has seen the signature.
 * @returns the path of `gatehouse-VERSION-linux-ARCH.gatehouse-update`
 */
export async function signUpdate({ bundle, key, out, madeAt, changes, updatesFrom }: UpdateOptions): Promise<string> {
  const name = basename(bundle)
  const [, version = '', processor = ''] = /^gatehouse-(.+)-linux-(x64|arm64)\.tar\.zst$/.exec(name) ?? []
  if (semver.valid(version) !== version) throw new Error(`${name} is no bundle with a version as 1.5.0 or 1.5.0-rc.1.`)
  const { size } = await stat(bundle)
  const manifest: UpdateManifest = {
    product: 'gatehouse-appliance',
    version,
    processor: processor as UpdateManifest['processor'],
    made_at: madeAt,
    updates_from: updatesFrom,
    schema: NEWEST_SCHEMA,
    changes: [...changes],
    bundle: { name, size, sha256: await sha256Of(bundle) },
  }
  const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  const pack = tar.pack()
  const file = join(out, name.replace('.tar.zst', '.gatehouse-update'))
  const mtime = new Date(madeAt)
  const written = pipeline(pack, createWriteStream(`${file}.part`))
  const small = (member: string, body: Buffer | string): void =>
    void pack.entry({ name: member, mtime, mode: 0o644 }, body)
  small(MANIFEST, bytes)
  small(SIGNATURE, `${sign(null, bytes, key).toString('base64')}\n`)
  await pipeline(createReadStream(bundle), pack.entry({ name, size, mtime, mode: 0o644 }))
  pack.finalize()
  await written
  try {
    await readUpdate(`${file}.part`, createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString())
  } catch (error) {
    await rm(`${file}.part`, { force: true })
    throw error
  }
  await rename(`${file}.part`, file)
  return file
}
