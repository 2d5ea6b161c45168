import { readFile } from 'node:fs/promises'
import type { SpooledFile } from '../../files/spool.ts'
import type { Description } from '../../core/manifest.ts'
import { Malformed, malformed, printBytes, quote } from '../../lib/limited.ts'
import type { ZipMember } from '../../lib/zip-directory.ts'
import type { Inspection } from '../format.ts'
import { refuse } from '../refuse.ts'
import { isZip, withArchive, type Archive } from './archive.ts'
import { buildOf, isSnapshot, nameOf, partArch, printBuild, readKind, type FileKind } from './coordinates.ts'
import type { MavenFacts } from './facts.ts'
import { decodeXml, licenceIn, MAX_POM_BYTES, readLeaves, readPom, type Pom } from './pom.ts'
import { needsOf } from './relation.ts'

const POM_INSIDE = /^META-INF\/maven\/[^/]+\/[^/]+\/pom\.xml$/
const PLUGIN = 'META-INF/maven/plugin.xml'
const MAX_PLUGIN_BYTES = 8 * 2 ** 20
/** Scopes of what a client does not need to run it. */
const NOT_NEEDED: ReadonlySet<string> = new Set(['test', 'provided', 'system', 'import'])

/** Reads the pom that stands beside the others, or is the only file. @throws Malformed */
async function readPomFile({ path, bytes, blob, filename }: SpooledFile): Promise<Pom> {
  if (blob.size > MAX_POM_BYTES) malformed(`${quote(filename)} is larger than ${printBytes(MAX_POM_BYTES)}`)
  try {
    return readPom(bytes ?? (await readFile(path)))
  } catch (error) {
    if (error instanceof Malformed) throw new Malformed(`${quote(filename)}: ${error.why}`, error)
    throw error
  }
}

const byLength = (a: SpooledFile, b: SpooledFile): number => a.filename.length - b.filename.length

/**
 * A pom with a classifier: Maven 4 sends the one that it builds from as `lib-1.0-build.pom`. It may leave open what it
 * is, and clients never resolve by it.
 * @throws Malformed where it is no XML, or a second pom of its own
 */
async function mustBeBeside({ path, bytes, blob, filename }: SpooledFile, own: SpooledFile | undefined): Promise<void> {
  const begin = own?.filename.slice(0, -'.pom'.length)
  if (!filename.startsWith(`${begin}-`)) malformed(`${quote(filename)} is a second pom`)
  if (blob.size > MAX_POM_BYTES) malformed(`${quote(filename)} is larger than ${printBytes(MAX_POM_BYTES)}`)
  try {
    readLeaves(decodeXml(bytes ?? (await readFile(path))), { each: () => undefined })
  } catch (error) {
    if (error instanceof Malformed) throw new Malformed(`${quote(filename)}: ${error.why}`, error)
    throw error
  }
}

/** @throws Malformed where the archive holds none or several: shaded ones hold those of others */
async function readPomInside({ members, read }: Archive): Promise<Pom> {
  const poms = members.filter(({ name }) => POM_INSIDE.test(name))
  const [only] = poms
  if (only === undefined || poms.length > 1)
    return malformed(`no .pom came with it, and ${poms.length === 0 ? 'none is' : `${poms.length} are`} inside`)
  return readPom(await read(only, MAX_POM_BYTES))
}

/** What `mvn` calls a plugin: what its descriptor says, else what its name says. */
async function prefixOf({ members, read }: Archive, { artifact }: Pom['self']): Promise<string> {
  const member = members.find(({ name }) => name === PLUGIN)
  let said = ''
  if (member !== undefined) {
    readLeaves(decodeXml(await read(member, MAX_PLUGIN_BYTES)), {
      each: (path, text) => {
        if (path === 'plugin/goalPrefix') said = text
      },
    })
  }
  // Source: maven-plugin-api, PluginDescriptor.getGoalPrefixFromArtifactId
  const byName = artifact.replace(/-?maven-?/g, '').replace(/-?plugin-?/g, '')
  return /^[A-Za-z0-9_.-]{1,100}$/.test(said) ? said : byName
}

/** Only names that a zip may have and that are paths; folders are left out. */
const pathsOf = (members: readonly ZipMember[]): readonly string[] => [...new Set(members.map(({ name }) => name))]

function describe({ self, ...pom }: Pom, version: string, sizeBytes: number | undefined): Description {
  const needed = pom.dependencies.filter(({ scope, optional }) => !NOT_NEEDED.has(scope) && optional !== true)
  const alike = [
    ...(pom.parent === undefined ? [] : [pom.parent]),
    ...pom.imports.filter(one => one.version !== undefined),
    ...needed,
  ]
  const needs = alike.flatMap(one => needsOf(nameOf(one), one.version))
  const seen = new Set<string>()
  const license = licenceIn(pom)
  return {
    summary: pom.name ?? self.artifact,
    description: pom.description ?? '',
    source: nameOf(self),
    source_version: version,
    ...(pom.url === undefined ? {} : { homepage: pom.url }),
    ...(pom.maintainer === undefined ? {} : { maintainer: pom.maintainer }),
    section: pom.packaging.slice(0, 100),
    ...(license === undefined ? {} : { license }),
    ...(sizeBytes === undefined ? {} : { installed_size: sizeBytes }),
    depends: needs.filter(need => {
      const key = JSON.stringify(need)
      return !seen.has(key) && seen.add(key) !== undefined
    }),
    provides: [{ name: nameOf(self), version }],
    conflicts: [],
  }
}

function factsOf({ packaging, parent, imports, dependencies }: Pom, prefix: string | undefined): MavenFacts {
  const unresolved = [...imports, ...dependencies].filter(({ version }) => version === undefined).map(nameOf)
  return {
    packaging,
    ...(parent === undefined ? {} : { parent }),
    ...(imports.length === 0 ? {} : { imports }),
    dependencies,
    ...(unresolved.length === 0 ? {} : { unresolved: [...new Set(unresolved)] }),
    ...(prefix === undefined ? {} : { prefix }),
  }
}

/**
 * The version that the names of the files say where the pom says a snapshot: `1.0-20261122.094857-2`.
 * @throws Malformed where they say another one
 */
function versionOf({ self: { artifact, version } }: Pom, { filename }: SpooledFile): string {
  if (!isSnapshot(version) || !filename.startsWith(`${artifact}-`)) return version
  const [stamp] = /\d{8}\.\d{6}-\d{1,9}(?=[-.])/.exec(filename.slice(artifact.length)) ?? []
  const build = stamp === undefined ? undefined : buildOf(`${version.slice(0, -'-SNAPSHOT'.length)}-${stamp}`)
  if (build === undefined) return version
  const stamped = printBuild(build)
  return filename.startsWith(`${artifact}-${stamped}`)
    ? stamped
    : malformed(`its pom says ${version}, and ${quote(filename)} is no build of that`)
}

const kindOf = ({ filename }: SpooledFile, artifact: string, version: string): FileKind | undefined =>
  filename.startsWith(`${artifact}-${version}`) ? readKind(filename.slice(`${artifact}-${version}`.length)) : undefined

/** The extension of a file whatever its name begins with. */
const extensionOf = ({ filename }: SpooledFile): string => filename.slice(filename.lastIndexOf('.') + 1).toLowerCase()

/** What Maven itself calls the main file of a packaging; undefined: there is none, or nobody knows. */
const MAIN: ReadonlyMap<string, string> = new Map([
  ...['jar', 'bundle', 'maven-plugin', 'ejb', 'test-jar', 'eclipse-plugin', 'takari-jar', 'maven-archetype'].map(
    packaging => [packaging, 'jar'] as const,
  ),
  ...['war', 'ear', 'aar', 'rar', 'hpi', 'nbm', 'zip', 'par'].map(packaging => [packaging, packaging] as const),
])

/** The extension of the main file of a packaging: `jar` of `bundle`; the packaging itself where nobody knows. */
export const mainExtension = (packaging: string): string => MAIN.get(packaging) ?? packaging

/** What is of no use without the file that it is about. */
const BESIDE: ReadonlySet<string> = new Set(['sources', 'javadoc', 'tests', 'test-sources', 'cyclonedx'])

/** @throws Malformed where a half of it came */
function mustBeWhole({ packaging, self }: Pom, version: string, files: readonly SpooledFile[]): void {
  const extension = MAIN.get(packaging)
  const others = files.filter(file => extensionOf(file) !== 'pom')
  const hasMain = others.some(file => {
    const kind = kindOf(file, self.artifact, version)
    return (
      kind !== undefined && !BESIDE.has(kind.classifier) && !/(^module|\.(asc|sig|sigstore|json))$/.test(kind.extension)
    )
  })
  if (extension !== undefined && !hasMain)
    malformed(`its pom says that it is a ${packaging}, and no ${self.artifact}-${version}.${extension} came`)
}

/** What stands in the archives among the files; the first file's paths are what a client installs. */
async function lookInside(
  files: readonly SpooledFile[],
  signal: AbortSignal,
  use: (archive: Archive) => Promise<void>,
): Promise<{ readonly paths: readonly string[]; readonly sizeBytes: number | undefined }> {
  let paths: readonly string[] = []
  let sizeBytes: number | undefined
  for (const [n, file] of files.entries()) {
    signal.throwIfAborted()
    if (!isZip(extensionOf(file))) continue
    try {
      await withArchive(file, async archive => {
        if (n > 0) return
        paths = pathsOf(archive.members)
        sizeBytes = archive.members.reduce((sum, { size }) => sum + size, 0)
        await use(archive)
      })
    } catch (error) {
      if (error instanceof Malformed && n > 0) throw new Malformed(`${quote(file.filename)}: ${error.why}`, error)
      throw error
    }
  }
  return { paths, sizeBytes }
}

async function look(file: SpooledFile, signal: AbortSignal): Promise<Inspection<MavenFacts>> {
  const files = [file, ...(file.beside ?? [])]
  const poms = files.filter(one => extensionOf(one) === 'pom').toSorted(byLength)
  const [own, ...others] = poms
  let pom = own === undefined ? undefined : await readPomFile(own)
  for (const other of others) await mustBeBeside(other, own)
  let prefix: string | undefined
  const inside = await lookInside(files, signal, async archive => {
    pom ??= await readPomInside(archive)
    if (pom.packaging === 'maven-plugin') prefix = await prefixOf(archive, pom.self)
  })
  if (pom === undefined) return malformed('no .pom came with it, which says what it is and needs')
  const version = versionOf(pom, file)
  if (own !== undefined && (kindOf(own, pom.self.artifact, version)?.classifier ?? '') !== '')
    malformed(`${quote(own.filename)} has a classifier, and no ${pom.self.artifact}-${version}.pom came`)
  // what has a classifier and comes first came without the main file: it is a part of its own
  const part = kindOf(file, pom.self.artifact, version)
  const isPart = part !== undefined && part.classifier !== ''
  if (poms.length > 0 && !isPart) mustBeWhole(pom, version, files)
  return {
    identity: { format: 'maven', name: nameOf(pom.self), version, arch: isPart ? partArch(part) : 'any' },
    about: describe(pom, version, inside.sizeBytes),
    facts: factsOf(pom, prefix),
    paths: inside.paths.length > 0 ? inside.paths : files.map(({ filename }) => filename),
  }
}

/**
 * Reads a version: its pom, which stands beside the others or in its archive, and the directories of its archives.
 * Nothing but small members is unpacked.
 * @throws bad_package; the signal's reason
 */
export async function inspect(file: SpooledFile, signal: AbortSignal): Promise<Inspection<MavenFacts>> {
  try {
    return await look(file, signal)
  } catch (error) {
    signal.throwIfAborted()
    return refuse(file.filename, error)
  }
}
