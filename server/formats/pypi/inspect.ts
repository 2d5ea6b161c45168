import { createHash } from 'node:crypto'
import type { PackageIdentity } from '../../core/identity.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { openWindow, type FileWindow } from '../../lib/file-window.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type { Inspection } from '../format.ts'
import { refuse } from '../refuse.ts'
import { describe, factsOf, type PypiFacts } from './facts.ts'
import { parseHeaders, valueOf } from './metadata.ts'
import { normalName, normalVersion, readFileName, type FileName } from './names.ts'
import { readRecord, type Recorded } from './record.ts'
import { readSdist } from './sdist.ts'
import { openWheel, readInfo, wheelTar, type OnMember, type Wheel } from './wheel.ts'

/** The one inner archive of a wheel: its files as a tar. */
export const WHEEL_PART = { what: 'data.tar', compression: 'gzip' } as const

export interface Reading {
  readonly signal: AbortSignal
  readonly unpacked: Pick<Unpacked, 'keep'> | undefined
}

const identityOf = ({ name, version }: PypiFacts, { arch }: FileName): PackageIdentity => ({
  format: 'pypi',
  name: normalName(name),
  version: normalVersion(version),
  arch,
})

/** Compares each member with its row of RECORD while it passes. @throws Malformed */
function comparing(recorded: ReadonlyMap<string, Recorded>, isSpared: (path: string) => boolean): OnMember {
  return ({ name, size }) => {
    if (isSpared(name)) return { update: () => {}, end: () => {} }
    const row = recorded.get(name) ?? malformed(`RECORD does not name ${quote(name)}, so nothing says what it must be`)
    if (row.size !== undefined && row.size !== size)
      malformed(`RECORD says that ${quote(name)} has ${row.size} bytes, and it has ${size}`)
    const hash = createHash(row.algorithm)
    return {
      update: chunk => hash.update(chunk),
      end() {
        const is = hash.digest('hex')
        if (is !== row.digest)
          malformed(`RECORD says that ${quote(name)} has the ${row.algorithm} ${row.digest}, and it has ${is}`)
      },
    }
  }
}

/** Reads every byte once: RECORD is checked and the tar of the files kept in one pass. @throws Malformed */
async function readFiles(file: FileWindow, wheel: Wheel, { signal, unpacked }: Reading): Promise<void> {
  const unsigned = new Set(['RECORD', 'RECORD.jws', 'RECORD.p7s'].map(name => `${wheel.distInfo}/${name}`))
  const isSpared = (path: string): boolean => unsigned.has(path)
  const recorded = readRecord(await readInfo(file, wheel, 'RECORD'), isSpared)
  const names = new Set(wheel.members.map(({ name }) => name))
  for (const path of recorded.keys()) if (!names.has(path)) malformed(`RECORD names ${quote(path)}, which is not in it`)
  const tar = wheelTar(file, wheel, comparing(recorded, isSpared))
  for await (const _ of unpacked?.keep(WHEEL_PART, tar) ?? tar) signal.throwIfAborted()
}

/**
 * Where an installer puts a file: what lies in the folder of data goes by its kind, everything else as it is.
 * Source: PEP 427, "The .data directory"
 */
function installedAt(path: string): string {
  const [, kind = '', rest = ''] = /^[^/]+\.data\/(purelib|platlib|scripts|data|headers)\/(.+)$/.exec(path) ?? []
  switch (kind) {
    case 'scripts':
      return `bin/${rest}`
    case 'headers':
      return `include/${rest}`
    case '':
      return path
    default:
      return rest
  }
}

async function lookAtWheel(file: FileWindow, named: FileName, reading: Reading): Promise<Inspection<PypiFacts>> {
  const wheel = await openWheel(file, named)
  const about = parseHeaders(await readInfo(file, wheel, 'WHEEL'), 'WHEEL')
  const version = valueOf(about, 'wheel-version') ?? ''
  if (!/^1\.\d+$/.test(version)) malformed(`WHEEL is of the version ${quote(version)}; installers of today read 1.x`)
  const bytes = await readInfo(file, wheel, 'METADATA')
  const headers = parseHeaders(bytes, 'METADATA')
  const read = factsOf(headers, named, 'METADATA')
  const facts: PypiFacts = {
    ...read,
    metadata: { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length },
  }
  const described = describe(headers, facts)
  await readFiles(file, wheel, reading)
  return {
    identity: identityOf(facts, named),
    about: { ...described, installed_size: wheel.members.reduce((sum, { size }) => sum + size, 0) },
    facts,
    paths: wheel.members.map(({ name }) => installedAt(name)),
  }
}

async function lookAtSdist(file: FileWindow, named: FileName, reading: Reading): Promise<Inspection<PypiFacts>> {
  const { info, paths, size } = await readSdist(file, named, reading)
  const headers = parseHeaders(info, 'PKG-INFO')
  const facts = factsOf(headers, named, 'PKG-INFO')
  return {
    identity: identityOf(facts, named),
    about: { ...describe(headers, facts), installed_size: size },
    facts,
    paths,
  }
}

async function look(file: FileWindow, filename: string, reading: Reading): Promise<Inspection<PypiFacts>> {
  reading.signal.throwIfAborted()
  const named =
    readFileName(filename) ??
    malformed('its name is not that of a wheel (NAME-VERSION-TAG.whl) or a source release (NAME-VERSION.tar.gz)')
  return named.arch === 'sdist' ? lookAtSdist(file, named, reading) : lookAtWheel(file, named, reading)
}

/**
 * Identity, requirements and facts of a wheel or a source release, in one pass over its files. A wheel's files are
 * compared with RECORD. Of the payload nothing is kept but what `unpacked` keeps.
 * @throws bad_package naming what breaks which rule; the signal's reason when it is aborted
 */
export async function inspect(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked?: Pick<Unpacked, 'keep'>,
): Promise<Inspection<PypiFacts>> {
  try {
    const window = await openWindow(file)
    try {
      return await look(window, file.filename, { signal, unpacked })
    } finally {
      await window.close()
    }
  } catch (error) {
    return refuse(file.filename, error)
  }
}
