import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as openpgp from 'openpgp'
import tar from 'tar-stream'
import { relPath } from '../../core/identity.ts'
import { malformed, Malformed, printBytes, quote } from '../../lib/limited.ts'
import { sha256Of } from '../../lib/digest-file.ts'

/**
 * The bundle that sites without internet carry in: one tar with a manifest of digests, and a detached OpenPGP signature
 * over the manifest.
 *
 *     vulndb-YYYYMMDD.tar
 *     ├── manifest.json              what is in it, from when, under which licence
 *     ├── manifest.json.asc
 *     ├── osv/<Ecosystem>/all.zip    debian/tracker.json    alpine/<release>/<repository>.json
 *     ├── updateinfo/<codename>/*.xml.*
 *     ├── nvd/nvdcve-2.0-YEAR.json.gz    csaf/*
 *     ├── kev/known_exploited_vulnerabilities.json    epss/epss_scores-YYYY-MM-DD.csv.gz
 *     ├── jars/*.index              releases of Java libraries by SHA-1
 *     └── grype/*    trivy/*    clamav/*               as those engines take them
 */
export interface BundleFile {
  readonly path: string
  readonly sha256: string
  readonly size: number
  readonly source?: string
  readonly source_date?: string
  readonly licence?: string
}
export interface BundleManifest {
  readonly format: 1
  readonly created: string
  readonly files: readonly BundleFile[]
}

/** A file of a bundle, on disk under a name of ours. */
export interface UnpackedFile {
  readonly file: BundleFile
  readonly path: string
}
export interface UnpackedBundle {
  readonly manifest: BundleManifest
  readonly signature: 'verified' | 'not_checked'
  readonly files: readonly UnpackedFile[]
}

export interface BundleLimits {
  readonly maxFiles: number
  readonly maxBytes: number
}
export const BUNDLE_LIMITS: BundleLimits = { maxFiles: 5_000, maxBytes: 32 * 2 ** 30 }

const MANIFEST = 'manifest.json'
const SIGNATURE = 'manifest.json.asc'
const MOST_MANIFEST = 8 * 2 ** 20

/** A path that stays inside the folder and reads the same on every system. */
function checkPath(path: string): string {
  try {
    const clean = relPath(path.replace(/^\.\//, ''))
    if (/^[A-Za-z]:/.test(clean) || clean.length > 300) malformed('')
    return clean
  } catch (error) {
    return malformed(`the bundle holds ${quote(path)}, which is no path inside it`, error)
  }
}

function isFile(value: unknown): value is BundleFile {
  const { path, sha256, size, source_date: date } = value as Record<string, unknown>
  return (
    typeof path === 'string' &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    Number.isSafeInteger(size) &&
    (size as number) >= 0 &&
    (date === undefined || (typeof date === 'string' && !Number.isNaN(Date.parse(date))))
  )
}

/** @throws Malformed when the manifest is not one of format 1 */
function readManifest(bytes: Buffer): BundleManifest {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return malformed('manifest.json of the bundle is no JSON', error)
  }
  const { format, created, files } =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  if (format !== 1)
    malformed(
      `manifest.json of the bundle is of format ${JSON.stringify(format) ?? 'none'}; this release reads format 1`,
    )
  if (typeof created !== 'string' || Number.isNaN(Date.parse(created)))
    malformed('manifest.json of the bundle does not say when it was made')
  const list = Array.isArray(files)
    ? (files as readonly unknown[])
    : malformed('manifest.json of the bundle lists no files')
  if (!list.every(file => typeof file === 'object' && file !== null && isFile(file)))
    malformed('manifest.json of the bundle lists a file without path, sha256 or size')
  const paths = list.map(file => checkPath((file as BundleFile).path))
  if (new Set(paths).size !== paths.length) malformed('manifest.json of the bundle lists a file twice')
  return {
    format: 1,
    created: new Date(created).toISOString(),
    files: list.map((file, at) => ({ ...(file as BundleFile), path: paths[at] ?? '' })),
  }
}

/** True when one of the armoured keys signed these bytes. */
async function isSignedBy(bytes: Buffer, armoredSignature: string, armoredKeys: string): Promise<boolean> {
  try {
    const verificationKeys = await openpgp.readKeys({ armoredKeys })
    const message = await openpgp.createMessage({ binary: bytes })
    const signature = await openpgp.readSignature({ armoredSignature })
    const { signatures } = await openpgp.verify({ message, signature, verificationKeys })
    for (const one of signatures) if (await one.verified.catch(() => false)) return true
    return false
  } catch {
    return false
  }
}

interface Arrived {
  readonly sha256: string
  readonly size: number
  readonly path: string
  readonly head: Buffer | undefined
}

/** Writes one entry to disk and digests it; also keeps small ones that are read here. */
async function takeEntry(stream: Readable, path: string, room: number, keep: boolean): Promise<Arrived> {
  const hash = createHash('sha256')
  const kept: Buffer[] = []
  let size = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      if (size > room || (keep && size > MOST_MANIFEST)) return done(new Malformed('the bundle is larger than allowed'))
      hash.update(chunk)
      if (keep) kept.push(chunk)
      done(null, chunk)
    },
  })
  await pipeline(stream, count, createWriteStream(path, { flags: 'wx' }))
  return { sha256: hash.digest('hex'), size, path, head: keep ? Buffer.concat(kept) : undefined }
}

/** Extracts every file of the tar under numbers in `folder`: no name of the archive becomes a name on disk. */
async function extract(
  chunks: AsyncIterable<Buffer>,
  folder: string,
  limits: BundleLimits,
): Promise<Map<string, Arrived>> {
  await mkdir(folder, { recursive: true })
  const unpacker = tar.extract()
  const arrived = new Map<string, Arrived>()
  let room = limits.maxBytes
  const feeding = pipeline(chunks, unpacker).then(
    () => undefined,
    (error: unknown) => error,
  )
  try {
    for await (const entry of unpacker) {
      const { name, type } = entry.header
      if (type === 'directory') {
        entry.resume()
        continue
      }
      if (type !== 'file' && type !== 'contiguous-file')
        malformed(`the bundle holds ${quote(name)}, a ${type ?? 'thing'}; only files are allowed`)
      const path = checkPath(name)
      if (arrived.has(path)) malformed(`the bundle holds ${quote(path)} twice`)
      if (arrived.size >= limits.maxFiles) malformed(`the bundle holds more than ${limits.maxFiles} files`)
      // a streamx stream: pipeline accepts it, but its type differs
      const taken = await takeEntry(
        entry as unknown as Readable,
        join(folder, String(arrived.size)),
        room,
        path === MANIFEST || path === SIGNATURE,
      )
      room -= taken.size
      arrived.set(path, taken)
    }
  } catch (error) {
    unpacker.destroy()
    const fed = await feeding
    if (error instanceof Malformed) throw error
    throw fed instanceof Malformed ? fed : new Malformed('the bundle is no readable tar, or it is cut off', error)
  }
  const fed = await feeding
  if (fed !== undefined)
    throw fed instanceof Malformed ? fed : new Malformed('the bundle is no readable tar, or it is cut off', fed)
  return arrived
}

/**
 * Unpacks a bundle below `folder` and verifies it: the signature when a key is pinned, then the size and digest of
 * every file. A file that the manifest does not list, or one that is missing, refuses the bundle.
 * @throws Malformed naming what is wrong
 */
export async function unpackBundle(
  chunks: AsyncIterable<Buffer>,
  folder: string,
  { key, limits = BUNDLE_LIMITS }: { readonly key: string; readonly limits?: BundleLimits },
): Promise<UnpackedBundle> {
  const arrived = await extract(chunks, folder, limits)
  const written = arrived.get(MANIFEST)?.head ?? malformed('the tar holds no manifest.json, so it is no bundle')
  const signature = arrived.get(SIGNATURE)?.head?.toString('utf8')
  if (key !== '') {
    if (signature === undefined)
      malformed('the bundle is not signed, and security.bundle_key names the key that must have signed it')
    if (!(await isSignedBy(written, signature, key)))
      malformed(
        'the signature of the bundle is not one by security.bundle_key: the bundle is damaged, or made by somebody else',
      )
  }
  const manifest = readManifest(written)
  const files = manifest.files.map((file): UnpackedFile => {
    const there = arrived.get(file.path) ?? malformed(`the bundle lacks ${quote(file.path)}, which its manifest lists`)
    if (there.size !== file.size || there.sha256 !== file.sha256)
      malformed(`${quote(file.path)} of the bundle is not what its manifest says: it is damaged`)
    return { file, path: there.path }
  })
  const listed = new Set([MANIFEST, SIGNATURE, ...manifest.files.map(({ path }) => path)])
  const extra = [...arrived.keys()].find(path => !listed.has(path))
  if (extra !== undefined) malformed(`the bundle holds ${quote(extra)}, which its manifest does not list`)
  return { manifest, signature: key === '' ? 'not_checked' : 'verified', files }
}

/** A file to put into a bundle. */
export interface BundleInput {
  readonly from: string
  readonly path: string
  readonly source?: string
  readonly source_date?: string
  readonly licence?: string
}

export interface PackOptions {
  readonly created: string
  readonly sign?: (manifest: Buffer) => Promise<string>
}

/**
 * Writes a bundle to `to`, the manifest first.
 * @param sign  returns the armoured detached signature over the manifest; without it the bundle is not signed
 */
export async function packBundle(
  to: string,
  inputs: readonly BundleInput[],
  { created, sign }: PackOptions,
): Promise<BundleManifest> {
  const files: BundleFile[] = []
  for (const { from, path, ...about } of [...inputs].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    files.push({ path: checkPath(path), sha256: await sha256Of(from), size: (await stat(from)).size, ...about })
  }
  const manifest: BundleManifest = { format: 1, created, files }
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  const pack = tar.pack()
  const mtime = new Date(created)
  const written = pipeline(pack, createWriteStream(to))
  pack.entry({ name: MANIFEST, mtime }, text)
  if (sign !== undefined) pack.entry({ name: SIGNATURE, mtime }, await sign(text))
  const fromOf = new Map(inputs.map(({ path, from }) => [checkPath(path), from]))
  for (const { path, size } of files) {
    await pipeline(createReadStream(fromOf.get(path) ?? ''), pack.entry({ name: path, size, mtime }))
  }
  pack.finalize()
  await written
  if (files.length > BUNDLE_LIMITS.maxFiles)
    malformed(`a bundle holds at most ${BUNDLE_LIMITS.maxFiles} files and ${printBytes(BUNDLE_LIMITS.maxBytes)}`)
  return manifest
}
