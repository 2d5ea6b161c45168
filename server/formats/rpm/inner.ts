import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { createCpioWriter } from '../../lib/cpio-writer.ts'
import { unpack } from '../../lib/decompress.ts'
import { limited } from '../../lib/limited.ts'
import type { InnerStream, InstalledAs } from '../format.ts'
import { refuse } from '../refuse.ts'
import { PAYLOAD_BYTES, readFiles } from './files.ts'
import type { RpmHeader } from './header.ts'
import type { RpmPackage } from './package.ts'
import { openRpm } from './package.ts'
import { createPayloadReader } from './payload.ts'
import { INTERPRETERS, SCRIPTS, TAG } from './tags.ts'

/** Opens the file again for each stream, so a stream may be read late, twice or never. */
async function* read(file: SpooledFile, pick: (rpm: RpmPackage) => AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    const rpm = await openRpm(file)
    try {
      yield* pick(rpm)
    } finally {
      await rpm.close()
    }
  } catch (error) {
    refuse(file.filename, error)
  }
}

/**
 * The payload as newc, the form that engines open: as it lies there, or, of the stripped form, with the names that the
 * header has.
 */
async function* payload(rpm: RpmPackage, unpacked?: Pick<Unpacked, 'read'>): AsyncGenerator<Buffer> {
  const copy = unpacked?.read(rpm.payload)
  const reader = createPayloadReader(readFiles(rpm.header))
  const writer = createCpioWriter()
  const held: Buffer[] = []
  let isStripped: boolean | undefined
  for await (const chunk of copy ?? limited(unpack(rpm.payload), PAYLOAD_BYTES, rpm.payload.what)) {
    const parts = reader.push(chunk)
    const first = parts[0]
    if (first !== undefined && !('bytes' in first)) isStripped ??= first.index !== undefined
    if (isStripped !== true) held.push(chunk)
    else for (const part of parts) yield* writer.write(part)
    // what came before the first entry was whole is not known to be of either form yet
    if (isStripped === false) yield* held.splice(0)
  }
  reader.end()
  // of what was kept they were right when it was unpacked
  if (copy === undefined) rpm.digests.check()
  yield* isStripped === true ? [writer.end()] : held
}

/** Every script as a file of one cpio, so that an engine scans each from its beginning. */
async function* scripts({ header }: RpmPackage): AsyncGenerator<Buffer> {
  const writer = createCpioWriter()
  for (const [name, bytes] of scriptsOf(header)) {
    yield* writer.write({ name, mode: 0o100755, size: bytes.length, type: 'file' })
    yield* writer.write({ bytes })
  }
  yield writer.end()
}

/**
 * Everything that rpm would run, by name; several triggers are numbered. @throws Malformed for a script that is no text
 */
export function scriptsOf(header: RpmHeader): [name: string, bytes: Buffer][] {
  return SCRIPTS.flatMap(([name, tag]) =>
    header
      .texts(tag)
      .map((text, i, all): [string, Buffer] => [all.length > 1 ? `${name}.${i + 1}` : name, Buffer.from(text)]),
  )
}

const TRIGGERS: ReadonlySet<string> = new Set(['trigger', 'filetrigger', 'transfiletrigger'])

/** What runs the scripts, by their names; also of those that have no text: `-p /sbin/ldconfig`. */
function interpretersOf(header: RpmHeader): Map<string, string> {
  const pairs = SCRIPTS.flatMap(([name]): [string, string][] => {
    const words = header.texts(INTERPRETERS[name] ?? 0)
    if (words.length === 0) return []
    // a list of arguments, but of triggers one program for each
    if (!TRIGGERS.has(name)) return [[name, words.join(' ')]]
    return words.map((word, i) => [words.length > 1 ? `${name}.${i + 1}` : name, word])
  })
  return new Map(pairs)
}

/** rpm installs by the header: what the payload says of modes and owners it passes over. */
function installedAs(header: RpmHeader): Map<string, InstalledAs> {
  const [users, groups] = [header.texts(TAG.fileusers), header.texts(TAG.filegroups)]
  const [targets, capabilities] = [header.texts(TAG.filelinktos), header.texts(TAG.filecaps)]
  return new Map(
    readFiles(header).map(({ name, mode }, i): [string, InstalledAs] => [
      name,
      {
        mode: mode & 0o7777,
        owner: `${users[i]}:${groups[i]}`,
        ...(targets[i] ? { link: targets[i] } : {}),
        ...(capabilities[i] ? { capabilities: capabilities[i] } : {}),
      },
    ]),
  )
}

/** The payload as plain cpio, and the scripts that rpm runs. */
export async function* inner(file: SpooledFile, unpacked?: Pick<Unpacked, 'read'>): AsyncGenerator<InnerStream> {
  let interpreters: ReadonlyMap<string, string> = new Map()
  let files: ReadonlyMap<string, InstalledAs> = new Map()
  let hasScripts = false
  try {
    const rpm = await openRpm(file)
    try {
      interpreters = interpretersOf(rpm.header)
      files = installedAs(rpm.header)
      hasScripts = interpreters.size > 0 || scriptsOf(rpm.header).length > 0
    } finally {
      await rpm.close()
    }
  } catch (error) {
    refuse(file.filename, error)
  }
  yield { name: 'payload.cpio', open: () => read(file, rpm => payload(rpm, unpacked)), files }
  if (hasScripts) yield { name: 'scripts', open: () => read(file, scripts), interpreters }
}
