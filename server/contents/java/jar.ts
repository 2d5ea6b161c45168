import { createHash } from 'node:crypto'
import { constants, crc32, inflateRawSync } from 'node:zlib'
import { malformed, Malformed } from '../../lib/limited.ts'
import { readZipDirectory, type ZipMember } from '../../lib/zip-directory.ts'
import type { OpenFile, Reader, Unopened } from '../reader.ts'
import { JAVA_ENDING, readJarName } from './file-name.ts'
import { identify, type Stated } from './identify.ts'
import { FOLDERS_WITH_VERSION } from './known-artifacts.ts'
import { findLog4j } from './log4j.ts'
import { readManifest, readSections } from './manifest.ts'
import { readPomProperties, readPomXml } from './pom.ts'

const MAX_ENTRIES = 100_000
const MAX_PROPERTIES = 64 * 1024
const MAX_POM = 2 * 2 ** 20
/** More poms than any jar has; hadoop's largest has 84. */
const MAX_POMS = 2_000
/** The first section of a manifest is packed into less. */
const MANIFEST_HEAD = 64 * 1024
/** Larger files are no artifacts with advisories, and would have to be read whole. */
const MAX_DIGESTED = 512 * 2 ** 20

const MANIFEST = 'META-INF/MANIFEST.MF'
const POM = /^META-INF\/maven\/([^/]+)\/([^/]+)\/pom\.(properties|xml)$/
/** `META-INF/androidx.core_core.version`: what Google's libraries for Android have. */
const VERSION_FILE = /^META-INF\/((?:androidx|com\.google|com\.android)\.[\w.-]+)_([\w.-]+)\.version$/
const NETTY = 'META-INF/io.netty.versions.properties'
const NETTY_LINE = /^(netty-[\w-]+)\.version=([\w.-]+)\s*$/gm
const LOCAL = 30

/** The packed bytes of a member: all, or the first of them. */
async function packedOf(file: OpenFile, member: ZipMember, most: number): Promise<Buffer> {
  const local = await file.read(member.offset, LOCAL)
  if (local.length < LOCAL || local.readUInt32LE(0) !== 0x04034b50)
    malformed(`${member.name.slice(0, 200)} in it is damaged`)
  const from = member.offset + LOCAL + local.readUInt16LE(26) + local.readUInt16LE(28)
  return file.read(from, Math.min(member.packed, most))
}

function mustOpen({ name, flags, method }: ZipMember): void {
  if ((flags & 1) !== 0) malformed(`${name.slice(0, 200)} in it is encrypted`)
  if (method !== 0 && method !== 8) malformed(`${name.slice(0, 200)} in it is compressed by method ${method}`)
}

/** A small member, whole. @throws Malformed */
async function textOf(file: OpenFile, member: ZipMember, most: number): Promise<string> {
  mustOpen(member)
  const name = member.name.slice(0, 200)
  if (member.size > most || member.packed > most) malformed(`${name} in it has more than ${most} bytes`)
  const packed = await packedOf(file, member, most)
  try {
    const bytes = member.method === 0 ? packed : inflateRawSync(packed, { maxOutputLength: Math.max(1, member.size) })
    if (bytes.length === member.size && crc32(bytes) === member.crc) return bytes.toString('utf8')
  } catch (error) {
    malformed(`${name} in it is damaged`, error)
  }
  return malformed(`${name} in it is damaged`)
}

/** The beginning of a manifest: those of signed jars are long. Unpacks at most 64 KiB of packed bytes. */
async function manifestOf(file: OpenFile, member: ZipMember | undefined): Promise<Buffer> {
  if (member === undefined) return Buffer.alloc(0)
  mustOpen(member)
  const packed = await packedOf(file, member, MANIFEST_HEAD)
  try {
    return member.method === 0
      ? packed
      : inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, 2 ** 20)
  } catch (error) {
    return malformed('its manifest is damaged', error)
  }
}

/** What the sections of a manifest state about the folders of well-known libraries. */
function statedBySections(manifest: Buffer, entry: string): Stated[] {
  return [...readSections(manifest)].flatMap(([folder, section]): Stated[] => {
    const coordinates = FOLDERS_WITH_VERSION.get(folder)
    const version = section.get('implementation-version') ?? ''
    return coordinates !== undefined && /^\d[\w.-]{0,100}$/.test(version)
      ? [{ ...coordinates, version, rule: 'manifest-section', entry }]
      : []
  })
}

/** All that files in the jar state about what it holds; what could not be read is said. */
async function statedIn(file: OpenFile, members: readonly ZipMember[]): Promise<[Stated[], Unopened[]]> {
  const stated: Stated[] = []
  const unopened: Unopened[] = []
  const properties = new Set(members.flatMap(({ name }) => (name.endsWith('/pom.properties') ? name : [])))
  const wanted = members.filter(
    ({ name }) =>
      name === NETTY ||
      VERSION_FILE.test(name) ||
      // a pom.xml repeats what pom.properties says
      (POM.test(name) && !(name.endsWith('.xml') && properties.has(name.replace(/xml$/, 'properties')))),
  )
  for (const member of wanted.slice(0, MAX_POMS)) {
    try {
      stated.push(...(await statedBy(file, member)))
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      unopened.push({
        path: `${file.path}!/${member.name}`,
        size: member.size,
        why: `It could not be read: ${error.why}.`,
      })
    }
  }
  if (wanted.length > MAX_POMS)
    unopened.push({
      path: file.path,
      size: file.size,
      why: `It holds ${wanted.length} poms, of which ${MAX_POMS} were read.`,
    })
  return [stated, unopened]
}

async function statedBy(file: OpenFile, member: ZipMember): Promise<Stated[]> {
  const entry = member.name
  const [, androidGroup, androidArtifact] = VERSION_FILE.exec(entry) ?? []
  if (androidGroup !== undefined && androidArtifact !== undefined) {
    const version = (await textOf(file, member, MAX_PROPERTIES)).trim()
    return /^\d[\w.+-]*$/.test(version)
      ? [{ group: androidGroup, artifact: androidArtifact, version, rule: 'version-file', entry }]
      : []
  }
  if (entry === NETTY)
    return [...(await textOf(file, member, MAX_PROPERTIES)).matchAll(NETTY_LINE)]
      .slice(0, 100)
      .map(([, artifact = '', version = '']) => ({ group: 'io.netty', artifact, version, rule: 'version-file', entry }))
  const isXml = entry.endsWith('.xml')
  const text = await textOf(file, member, isXml ? MAX_POM : MAX_PROPERTIES)
  const [, group = '', artifact = ''] = POM.exec(entry) ?? []
  const self = isXml ? readPomXml(text).self : readPomProperties(text, { group, artifact })
  return self === undefined ? [] : [{ ...self, rule: isXml ? 'pom-xml' : 'pom-properties', entry }]
}

async function sha1Of(file: OpenFile): Promise<string | undefined> {
  if (file.size > MAX_DIGESTED) return undefined
  const hash = createHash('sha1')
  for (let at = 0; at < file.size; at += 2 ** 20) hash.update(await file.read(at, Math.min(2 ** 20, file.size - at)))
  return hash.digest('hex')
}

const MOST_FOLDERS = 20_000
const LONGEST_PATH = 1_000

/** The names of the folders that hold classes, in lower case; paths that are longer than any class has do not count. */
function foldersOf(members: readonly ZipMember[]): Set<string> {
  const paths = new Set<string>()
  const names = new Set<string>()
  for (const { name } of members) {
    if (!name.endsWith('.class') || name.length > LONGEST_PATH) continue
    const path = name.slice(0, Math.max(0, name.lastIndexOf('/')))
    if (path === '' || paths.has(path)) continue
    paths.add(path)
    for (const folder of path.toLowerCase().split('/')) names.add(folder)
    if (names.size > MOST_FOLDERS) break
  }
  return names
}

const isPom = ({ name }: ZipMember): boolean => POM.test(name) || VERSION_FILE.test(name)
// a jar, a script or a program before one, a jmod
const MAGICS = ['PK\x03\x04', 'PK\x05\x06', '#!', 'MZ', '\x7fELF', 'JM\x01\x00']

/**
 * What a Java archive is and holds. Reads the directory of the zip, its poms and its manifest; the classes are never
 * unpacked, and archives in it are opened as files of their own.
 */
export const jarReader: Reader = {
  id: 'jar',
  wants: ({ path, head, size }) =>
    size >= 22 && (JAVA_ENDING.test(path) || MAGICS.some(magic => head.toString('latin1', 0, magic.length) === magic)),
  async read(file) {
    const directory = await readZipDirectory(file, MAX_ENTRIES)
    if (directory === undefined) return { found: [] }
    const { members } = directory
    const manifest = members.find(({ name }) => name.toUpperCase() === MANIFEST)
    const isJava =
      JAVA_ENDING.test(file.path) ||
      manifest !== undefined ||
      members.some(one => one.name.endsWith('.class') || isPom(one))
    if (!isJava) return { found: [] }
    const [stated, unopened] = await statedIn(file, members)
    const bytes = await manifestOf(file, manifest)
    const found = await identify({
      path: file.path,
      name: readJarName(file.path),
      stated: [...stated, ...statedBySections(bytes, manifest?.name ?? MANIFEST)],
      manifest: readManifest(bytes),
      folders: foldersOf(members),
      log4j: findLog4j(members),
      sha1: () => sha1Of(file),
    })
    return { found, unopened }
  },
}
