import { createHash } from 'node:crypto'
import { inflateRawSync, constants } from 'node:zlib'
import { readGzipMember } from '../../lib/gzip-members.ts'
import { limited, malformed, printBytes, quote } from '../../lib/limited.ts'
import { createTarReader } from '../../lib/tar.ts'
import type { TarEntry } from '../../lib/tar-header.ts'
import type { FileWindow } from '../../lib/file-window.ts'
import type { RsaSigned } from '../../signing/signer.ts'

/** The budgets of `Format.inspect`. */
export const CONTROL_BYTES = 32 * 2 ** 20
export const DATA_BYTES = 8 * 2 ** 30
const CONTROL_ENTRIES = 1000
export const DATA_ENTRIES = 300_000
/** A signature has 512 bytes; with its headers and a dozen others it stays far below. */
const SIGNATURE_BYTES = 256 * 1024
const MAX_SIGNATURE = 64 * 1024

/** A stretch of the file: one gzip member as it lies there. */
export interface Stretch {
  readonly offset: number
  readonly size: number
}
/** The members of an .apk. All but the last are unpacked to find where they end. */
export interface ApkMembers {
  readonly signature: Stretch | undefined
  readonly signatures: readonly RsaSigned[]
  readonly control: Stretch
  readonly pkginfo: Buffer
  /** Where the data member begins; it must reach to the end of the file. */
  readonly dataOffset: number
}

/** The member with the files that a client installs, as messages name it. */
export const DATA = { what: 'the data member', compression: 'gzip' } as const
const ADB = Buffer.from('ADB')
const HASHES: Readonly<Record<string, RsaSigned['hash']>> = { RSA: 'sha1', RSA256: 'sha256', RSA512: 'sha512' }

/** The hash of a kind of signature: `RSA256` of `.SIGN.RSA256.<key>`. Undefined for kinds that apk passes over. */
export const hashOf = (kind: string): RsaSigned['hash'] | undefined =>
  Object.hasOwn(HASHES, kind) ? HASHES[kind] : undefined

/** True for a name that apk reserves: it begins with a dot and has no folder. */
const isOwn = (name: string): boolean => /^\.[^/]+$/.test(name)

/**
 * True when the first 512 bytes begin an .apk: a gzip member that begins with a hidden file, or what apk-tools 3
 * writes.
 */
export function isApk(head: Uint8Array): boolean {
  if (ADB.equals(head.subarray(0, 3)) && /[.dc]/.test(String.fromCharCode(head[3] ?? 0))) return true
  // only gzip headers with at most a file name are read: no packaging tool writes others
  if (head.length < 18 || head[0] !== 0x1f || head[1] !== 0x8b || head[2] !== 8) return false
  const name = head[3] === 8 ? head.indexOf(0, 10) + 1 : 10
  try {
    const start = inflateRawSync(head.subarray(name), { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 2 ** 20 })
    return [0, 512, 1024].some(
      at =>
        start.toString('latin1', at + 257, at + 262) === 'ustar' &&
        /^\.(SIGN\.|PKGINFO$|(pre|post)-|trigger$)/.test(textAt(start, at)),
    )
  } catch {
    return false
  }
}

function textAt(block: Buffer, at: number): string {
  const name = block.toString('latin1', at, at + 100)
  return name.slice(0, (name.indexOf('\0') + 101) % 101)
}

/** One member without an end mark: the next member continues the archive. */
interface Cut {
  readonly offset: number
  readonly what: string
  readonly maxPkginfo: number
  readonly signal: AbortSignal | undefined
}

/** @throws Malformed for what apk would take for the beginning of the data */
function mustBeOwn({ name, type }: TarEntry, what: string): void {
  if (!isOwn(name))
    malformed(`${what}: ${quote(name)} is no file of the package's own; those begin with a dot and stand in no folder`)
  if (type !== 'file') malformed(`${what}: ${quote(name)} is a ${type}; only plain files are allowed there`)
}

/** Unpacks a member once and keeps signatures and .PKGINFO. @returns its entries, and where it ended */
async function readCut(
  file: FileWindow,
  { offset, what, maxPkginfo, signal }: Cut,
): Promise<{ readonly entries: readonly TarEntry[]; readonly end: number }> {
  const member = readGzipMember(file, offset, what)
  const mostOf = (name: string): number | undefined =>
    name.startsWith('.SIGN.') ? MAX_SIGNATURE : name === '.PKGINFO' ? maxPkginfo : undefined
  // checked one by one: a fault in the first name is a better message than a fault at the end
  const keep = (entry: TarEntry): number | undefined => {
    mustBeOwn(entry, what)
    return mostOf(entry.name)
  }
  const tar = createTarReader({ what, maxEntries: CONTROL_ENTRIES, endMark: 'absent', dialect: 'ustar', keep })
  const entries: TarEntry[] = []
  for await (const chunk of limited(member.chunks, CONTROL_BYTES, what)) {
    entries.push(...tar.push(chunk))
    signal?.throwIfAborted()
  }
  tar.end()
  return { entries, end: member.end() }
}

function signatureOf({ name, body }: TarEntry): RsaSigned[] {
  const [, type = '', keyName = ''] =
    /^\.SIGN\.([A-Za-z0-9]+)\.(.+)$/.exec(name) ??
    malformed(`the signature member holds ${quote(name)}; its files are named .SIGN.RSA.<key>`)
  const hash = hashOf(type)
  return hash === undefined || body === undefined ? [] : [{ keyName, hash, signature: body }]
}

function pkginfoOf(entries: readonly TarEntry[]): Buffer {
  const names = entries.map(entry => entry.name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) malformed(`the control member has two files named ${twice}`)
  const late = names.find(name => name.startsWith('.SIGN.'))
  if (late !== undefined)
    malformed(`the control member holds the signature ${quote(late)}, which apk does not look at there`)
  if (names.includes('.INSTALL')) malformed('the control member holds .INSTALL, which apk-tools 3 refuses')
  return (
    entries.find(entry => entry.name === '.PKGINFO')?.body ?? malformed('the control member has no file named .PKGINFO')
  )
}

/**
 * Finds the members: an optional signature, the control, the data. Refuses what apk refuses, and what apk-tools 2 and 3
 * read differently. Source: apk-v2(5).
 * @param limits.signal  asked between chunks
 * @throws Malformed
 */
export async function findMembers(
  file: FileWindow,
  limits: { readonly maxPkginfo: number; readonly signal?: AbortSignal },
): Promise<ApkMembers> {
  const { signal } = limits
  const head = await file.read(0, Math.min(4, file.size))
  if (ADB.equals(head.subarray(0, 3))) {
    malformed(
      'it is a package of apk-tools 3 (ADB), which apk of the distributions here cannot read; build it as version 2, for example with abuild',
    )
  }
  const first = await readCut(file, { ...limits, offset: 0, what: 'the first member', signal })
  if (first.entries[0]?.name.startsWith('.SIGN.') !== true) {
    return {
      signature: undefined,
      signatures: [],
      control: { offset: 0, size: first.end },
      pkginfo: pkginfoOf(first.entries),
      dataOffset: mustGoOn(file, first.end, 'data'),
    }
  }
  if (first.end > SIGNATURE_BYTES) malformed(`the signature member has more than ${printBytes(SIGNATURE_BYTES)}`)
  const signatures = first.entries.flatMap(signatureOf)
  const offset = mustGoOn(file, first.end, 'control')
  const { entries, end } = await readCut(file, { ...limits, offset, what: 'the control member', signal })
  return {
    signature: { offset: 0, size: first.end },
    signatures,
    control: { offset, size: end - offset },
    pkginfo: pkginfoOf(entries),
    dataOffset: mustGoOn(file, end, 'data'),
  }
}

function mustGoOn(file: FileWindow, at: number, member: string): number {
  return at < file.size ? at : malformed(`it ends where its ${member} member should begin`)
}

/** The data member as a plain tar. @throws Malformed, also when something follows it */
export async function* unpackData(file: FileWindow, offset: number): AsyncGenerator<Buffer> {
  const member = readGzipMember(file, offset, DATA.what)
  yield* limited(member.chunks, DATA_BYTES, DATA.what)
  const behind = file.size - member.end()
  if (behind > 0)
    malformed(`${behind} bytes follow the data member; apk-tools 3 refuses them, and a scanner does not look there`)
}

/** The digest of bytes as they lie in the file. */
export async function digestOf(
  file: FileWindow,
  { offset, size }: Stretch,
  { algorithm, signal }: { readonly algorithm: 'sha1' | 'sha256'; readonly signal?: AbortSignal },
): Promise<Buffer> {
  const hash = createHash(algorithm)
  for await (const chunk of file.stream(offset, size)) {
    hash.update(chunk)
    signal?.throwIfAborted()
  }
  return hash.digest()
}
