import { Readable } from 'node:stream'
import type { EmbeddedSignature, Inspection } from '../format.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { limited, malformed, quote } from '../../lib/limited.ts'
import { createTarReader } from '../../lib/tar.ts'
import type { TarEntry } from '../../lib/tar-header.ts'
import { unpack } from '../../lib/decompress.ts'
import type { Packed } from '../../lib/packed.ts'
import { refuse } from '../refuse.ts'
import { inspectSource, isDsc } from './source/inspect.ts'
import { MAX_CONTROL, describe, identityOf, isDebugSymbols, parseControl, printControl } from './control.ts'
import type { DebFacts } from './facts.ts'
import { CONTROL_BYTES, DATA_BYTES } from './limits.ts'
import type { DebMembers } from './members.ts'
import { openDeb } from './members.ts'
import { MAX_LIST, checkTriggers, parseConffiles, type Conffile } from './conffiles.ts'
import { cleanName, createPayload } from './payload.ts'

const CONTROL_ENTRIES = 1000
const DATA_ENTRIES = 300_000
/** dpkg first writes `<name>.dpkg-new`, and a file system allows names of 255 bytes. */
const LONGEST_NAME = 255 - '.dpkg-new'.length

interface Walk {
  readonly packed: Packed
  readonly unpacked: Pick<Unpacked, 'keep'> | undefined
  readonly limitBytes: number
  readonly maxEntries: number
  readonly signal: AbortSignal
  /** The program that unpacks it: dpkg itself, or the tar that dpkg calls. */
  readonly dialect: 'gnu' | 'any'
  keep?(entry: TarEntry): number | undefined
  see(entry: TarEntry): void
}

/** Unpacks one inner tar once, from beginning to end, and shows each entry. */
async function walk({ packed, unpacked, limitBytes, maxEntries, signal, dialect, keep, see }: Walk): Promise<void> {
  const tar = createTarReader({ what: packed.what, maxEntries, dialect, ...(keep === undefined ? {} : { keep }) })
  const chunks = limited(unpack(packed), limitBytes, packed.what)
  for await (const chunk of unpacked?.keep(packed, chunks) ?? chunks) {
    for (const entry of tar.push(chunk)) see(entry)
    signal.throwIfAborted()
  }
  tar.end()
}

/**
 * The control files that are read, and the most bytes of each. The others, such as maintainer scripts, are plain files
 * without a folder.
 */
const READ: ReadonlyMap<string, number> = new Map([
  ['control', MAX_CONTROL],
  ['conffiles', MAX_LIST],
  ['triggers', MAX_LIST],
])

/** The bytes of the file `control`, and of the lists that dpkg reads before it unpacks anything. */
async function readControl(
  packed: Packed,
  { signal, unpacked }: Pick<Walk, 'signal' | 'unpacked'>,
): Promise<{ readonly control: Buffer; readonly conffiles: readonly Conffile[] }> {
  const found = new Map<string, Buffer>()
  await walk({
    packed,
    unpacked,
    signal,
    dialect: 'any',
    limitBytes: CONTROL_BYTES,
    maxEntries: CONTROL_ENTRIES,
    keep: entry => (entry.type === 'file' ? READ.get(cleanName(entry.name, packed.what)) : undefined),
    see(entry) {
      const path = cleanName(entry.name, packed.what)
      if (path === '' && entry.type === 'directory') return
      if (entry.type !== 'file')
        malformed(`${packed.what}: ${quote(path)} is a ${entry.type}; only plain files are allowed there`)
      if (path.includes('/')) malformed(`${packed.what}: ${quote(path)} stands in a folder; dpkg knows none there`)
      if (entry.body === undefined) return
      if (found.has(path)) malformed(`${packed.what} has two files named ${path}`)
      found.set(path, entry.body)
    },
  })
  checkTriggers(found.get('triggers') ?? Buffer.alloc(0))
  return {
    control: found.get('control') ?? malformed(`${packed.what} has no file named control`),
    conffiles: parseConffiles(found.get('conffiles') ?? Buffer.alloc(0)),
  }
}

/** Members with a debsigs signature, the preferred one first. dpkg-sig's `_gpgbuilder` is a different format. */
const SIGNATURES = ['_gpgorigin', '_gpgmaint', '_gpgarchive']

async function readSignature(deb: DebMembers, path: string): Promise<EmbeddedSignature | undefined> {
  const member = SIGNATURES.flatMap(name => deb.skipped.filter(({ what }) => what === name))[0]
  if (member === undefined) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of member.chunks()) chunks.push(chunk)
  return { kind: 'openpgp', signature: Buffer.concat(chunks), signed: () => Readable.from(signedBytes(path)) }
}

/** debsigs signs the three members joined. */
async function* signedBytes(path: string): AsyncGenerator<Buffer> {
  const deb = await openDeb({ path })
  try {
    for (const member of deb.signed) yield* member.chunks()
  } finally {
    await deb.close()
  }
}

async function look(
  deb: DebMembers,
  path: string,
  reading: Pick<Walk, 'signal' | 'unpacked'>,
): Promise<Inspection<DebFacts>> {
  reading.signal.throwIfAborted()
  const { control, conffiles } = await readControl(deb.control, reading)
  const paragraph = parseControl(control)
  const identity = identityOf(paragraph)
  const about = describe(paragraph, identity)
  const payload = createPayload(deb.data.what, LONGEST_NAME)
  await walk({
    ...reading,
    packed: deb.data,
    dialect: 'gnu',
    limitBytes: DATA_BYTES,
    maxEntries: DATA_ENTRIES,
    see: entry => payload.add(entry),
  })
  for (const { path: conffile, isGone } of conffiles) {
    const kind = payload.kindOf(conffile)
    if (isGone && kind !== undefined)
      malformed(`the list conffiles wants ${quote(conffile)} removed, and the package brings it`)
    if (kind === 'directory') malformed(`the list conffiles names ${quote(conffile)}, which is a directory`)
  }
  const signature = await readSignature(deb, path)
  return {
    ...(isDebugSymbols(paragraph) ? { kind: 'debug' as const } : {}),
    identity,
    about,
    facts: { control: printControl(paragraph) },
    paths: payload.files(),
    ...(signature === undefined ? {} : { signature }),
  }
}

/**
 * Identity, relations, index paragraph and file list of a .deb, in one pass. Of the payload nothing is kept but what
 * `unpacked` keeps.
 * @throws bad_package naming what breaks which rule; the signal's reason when it is aborted
 */
export async function inspect(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked?: Pick<Unpacked, 'keep'>,
): Promise<Inspection<DebFacts>> {
  if (isDsc(file.head)) return inspectSource(file, signal)
  try {
    const deb = await openDeb(file)
    try {
      return await look(deb, file.path, { signal, unpacked })
    } finally {
      await deb.close()
    }
  } catch (error) {
    return refuse(file.filename, error)
  }
}
