import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import tar from 'tar-stream'
import { Refused } from '../ports.ts'

/** What the vendor signs: one release for one kind of processor. */
export const UpdateManifest = Type.Object({
  product: Type.Literal('gatehouse-appliance'),
  version: Type.String({ pattern: '^[0-9][0-9A-Za-z.+-]{0,59}$' }),
  processor: Type.Union([Type.Literal('x64'), Type.Literal('arm64')]),
  /** ISO 8601. */
  made_at: Type.String({ maxLength: 40 }),
  /** Releases from this one on take it. */
  updates_from: Type.String({ maxLength: 60 }),
  /** The newest migration of its database. */
  schema: Type.String({ pattern: '^[0-9]{4}-[a-z0-9-]{1,80}$' }),
  /** `fix: …` or `new: …`. */
  changes: Type.Array(Type.String({ maxLength: 300 }), { maxItems: 200 }),
  bundle: Type.Object({
    name: Type.String({ pattern: '^gatehouse-[0-9A-Za-z.+-]{1,80}-linux-(x64|arm64)\\.tar\\.zst$' }),
    size: Type.Integer({ minimum: 1 }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
})
export type UpdateManifest = Static<typeof UpdateManifest>

/** The folder of the release that an update brings: the same version of other bytes is another one. */
export const releaseOf = ({ version, bundle }: Pick<UpdateManifest, 'version' | 'bundle'>): string =>
  `${version}-${bundle.sha256.slice(0, 12)}`

/** The members of an update, a tar of these three in this order; the third has the name that the manifest says. */
export const MANIFEST = 'manifest.json'
/** Ed25519 over the bytes of the manifest, in base64. */
export const SIGNATURE = 'manifest.json.sig'

/** What was signed and its signature, beside the bundle, and later in the folder of its release. */
export const SignedManifest = Type.Object({ manifest: Type.String(), signature: Type.String() })
export const SIGNED = '.signed.json'

const LARGEST_MANIFEST = 100_000
/** Larger ones are no bundle of ours. */
const LARGEST_BUNDLE = 4 * 1024 ** 3

const bad = (message: string): Refused =>
  new Refused('bad_update', `${message} Nothing was changed. Copy the file once more, or ask its vendor for it.`)

/** `51D0 9E3A …`, the first 16 digits of the SHA-256 of the key as SPKI. */
export function nameOfKey(pem: string): string {
  const der = createPublicKey(pem).export({ type: 'spki', format: 'der' })
  const hex = createHash('sha256').update(der).digest('hex').toUpperCase().slice(0, 16)
  return hex.replaceAll(/(.{4})(?=.)/g, '$1 ')
}

async function readSmall(body: Readable, size: number, name: string): Promise<Buffer> {
  if (size > LARGEST_MANIFEST) throw bad(`${name} in the update has ${size} bytes, more than any has.`)
  const parts: Buffer[] = []
  for await (const part of body as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts)
}

/** Whether the key made this signature (base64) of these bytes. */
export const isSignedBy = (bytes: Buffer, signature: string, key: string): boolean =>
  verify(null, bytes, createPublicKey(key), Buffer.from(signature.trim(), 'base64'))

function parseManifest(bytes: Buffer, signature: Buffer, key: string): UpdateManifest {
  if (!isSignedBy(bytes, signature.toString('latin1'), key))
    throw new Refused(
      'not_signed',
      `The update is not signed by the key of this appliance (${nameOfKey(key)}): it was altered, or is of another vendor. Nothing was changed. Fetch it again from whoever made this appliance.`,
    )
  let read: unknown
  try {
    read = JSON.parse(bytes.toString('utf8'))
  } catch {
    read = undefined
  }
  if (!Value.Check(UpdateManifest, read)) {
    const wrong = Value.Errors(UpdateManifest, read).First()
    throw bad(`The update's manifest is not one that this release reads: ${wrong?.path ?? ''} ${wrong?.message ?? ''}.`)
  }
  return read
}

/** The bundle, hashed as it passes, and written where that is wanted. @throws Refused unless its digest is right */
async function passBundle(body: Readable, { bundle }: UpdateManifest, part: string | undefined): Promise<void> {
  const hash = createHash('sha256')
  let size = 0
  if (part !== undefined) await rm(part, { force: true })
  const file = part === undefined ? undefined : await open(part, 'wx', 0o600)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length
      hash.update(chunk)
      await file?.writeFile(chunk)
    }
    await file?.sync()
  } finally {
    await file?.close()
  }
  if (size !== bundle.size || hash.digest('hex') !== bundle.sha256)
    throw bad(`${bundle.name} in the update is not what was signed: it was altered or cut short.`)
}

/**
 * Reads an update to its end: its signature first, then every byte of its bundle.
 * @param key  the vendor's public key, PEM
 * @param to  where the bundle is written once it is whole, and what was signed beside it; absent: it is only looked at
 * @throws Refused with the reason
 */
export async function readUpdate(file: string, key: string, to?: string): Promise<UpdateManifest> {
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() !== true)
    throw new Refused('not_found', `There is no file ${file}. Is the stick still in? Look at the list again.`)
  const part = to === undefined ? undefined : `${to}.part`
  const extract = tar.extract()
  const source = createReadStream(file, { highWaterMark: 1024 * 1024 })
  source.on('error', error => extract.destroy(error)).pipe(extract)
  const small: Buffer[] = []
  let manifest: UpdateManifest | undefined
  let isRead = false
  try {
    for await (const entry of extract) {
      const { name, type, size = 0 } = entry.header
      const wanted = manifest === undefined ? [MANIFEST, SIGNATURE][small.length] : manifest.bundle.name
      if (type !== 'file' || isRead || name !== wanted)
        throw bad(`The update holds ${JSON.stringify(name)}, where ${isRead ? 'nothing more' : wanted} belongs.`)
      if (manifest === undefined) {
        small.push(await readSmall(entry as unknown as Readable, size, name))
        const [bytes, signature] = small
        if (bytes !== undefined && signature !== undefined) manifest = parseManifest(bytes, signature, key)
      } else {
        if (size > LARGEST_BUNDLE || size !== manifest.bundle.size)
          throw bad(`${name} in the update has ${size} bytes, and ${manifest.bundle.size} were signed.`)
        await passBundle(entry as unknown as Readable, manifest, part)
        isRead = true
      }
    }
  } catch (error) {
    if (error instanceof Refused) throw error
    throw bad(`${file} cannot be read as an update: ${(error as Error).message}.`)
  } finally {
    source.destroy()
    extract.destroy()
  }
  if (manifest === undefined || !isRead) throw bad(`${file} ends before it is whole.`)
  if (part !== undefined && to !== undefined) {
    const [bytes, signature] = small.map(one => one.toString('utf8'))
    await writeFile(`${to}${SIGNED}`, JSON.stringify({ manifest: bytes, signature }), { mode: 0o644, flush: true })
    await rename(part, to)
  }
  return manifest
}
