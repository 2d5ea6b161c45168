import { Readable } from 'node:stream'
import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { createTarReader } from '../../lib/tar.ts'
import { openWindow, type FileWindow } from '../../lib/file-window.ts'
import { createPayload } from '../deb/payload.ts'
import type { EmbeddedSignature, Inspection } from '../format.ts'
import { refuse } from '../refuse.ts'
import type { ApkFacts } from './facts.ts'
import { DATA, DATA_ENTRIES, digestOf, findMembers, unpackData, type ApkMembers } from './members.ts'
import { MAX_PKGINFO, dataHashOf, describe, factsOf, identityOf, parsePkginfo } from './pkginfo.ts'

interface Reading {
  readonly signal: AbortSignal
  readonly unpacked: Pick<Unpacked, 'keep'> | undefined
}

/**
 * The paths that a client installs. apk passes over names that begin with a dot; `.dummy` is what abuild puts into an
 * empty package.
 */
async function readData(file: FileWindow, offset: number, { signal, unpacked }: Reading): Promise<string[]> {
  const payload = createPayload(DATA.what)
  const tar = createTarReader({ what: DATA.what, maxEntries: DATA_ENTRIES, dialect: 'ustar' })
  const chunks = unpackData(file, offset)
  for await (const chunk of unpacked?.keep(DATA, chunks) ?? chunks) {
    for (const entry of tar.push(chunk)) {
      if (/^\.\/+[^/]/.test(entry.name))
        malformed(
          `${DATA.what}: ${quote(entry.name)} begins with a dot, so apk would not install it; names stand without ./ before them`,
        )
      payload.add(entry)
    }
    signal.throwIfAborted()
  }
  tar.end()
  return payload.files().filter(path => !path.startsWith('.'))
}

/** The signature that clients check: the first of the newest kind. */
function embedded({ signatures, control }: ApkMembers, path: string): EmbeddedSignature | undefined {
  const best = signatures.toSorted((a, b) => b.hash.length - a.hash.length || (a.hash < b.hash ? 1 : -1))[0]
  return best && { kind: 'rsa', ...best, signed: () => Readable.from(readStretch(path, control)) }
}

async function* readStretch(path: string, { offset, size }: ApkMembers['control']): AsyncGenerator<Buffer> {
  const file = await openWindow({ path })
  try {
    yield* file.stream(offset, size)
  } finally {
    await file.close()
  }
}

async function look(file: FileWindow, path: string, reading: Reading): Promise<Inspection<ApkFacts>> {
  const { signal } = reading
  signal.throwIfAborted()
  const members = await findMembers(file, { maxPkginfo: MAX_PKGINFO, signal })
  const info = parsePkginfo(members.pkginfo)
  const identity = identityOf(info)
  const about = describe(info, identity)
  const facts = factsOf(
    info,
    `Q1${(await digestOf(file, members.control, { algorithm: 'sha1', signal })).toString('base64')}`,
  )
  const files = await readData(file, members.dataOffset, reading)
  const [said, is] = [
    dataHashOf(info),
    (
      await digestOf(
        file,
        { offset: members.dataOffset, size: file.size - members.dataOffset },
        { algorithm: 'sha256', signal },
      )
    ).toString('hex'),
  ]
  if (said !== is)
    malformed(`.PKGINFO says that the data member has the SHA-256 ${said}, and it has ${is}; apk would refuse it`)
  const signature = embedded(members, path)
  return { identity, about, facts, paths: files, ...(signature === undefined ? {} : { signature }) }
}

/**
 * Identity, relations, index facts and file list of an .apk, in one pass. Of the payload nothing is kept but what
 * `unpacked` keeps.
 * @throws bad_package naming what breaks which rule; the signal's reason when it is aborted
 */
export async function inspect(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked?: Pick<Unpacked, 'keep'>,
): Promise<Inspection<ApkFacts>> {
  try {
    const window = await openWindow(file)
    try {
      return await look(window, file.path, { signal, unpacked })
    } finally {
      await window.close()
    }
  } catch (error) {
    return refuse(file.filename, error)
  }
}
