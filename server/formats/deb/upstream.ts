import { isRefusal } from '../../core/errors.ts'
import { relPath, type RelPath } from '../../core/identity.ts'
import { trimBlanks } from '../../lib/blanks.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type {
  Upstream,
  UpstreamEntry,
  UpstreamPackage,
  UpstreamPlace,
  UpstreamReader,
  UpstreamRoot,
} from '../upstream.ts'
import {
  compressionOf,
  cutEntries,
  digestOfEntry,
  fetchWhole,
  hexOf,
  isAlgorithm,
  isDigest,
  notesOf,
  parsing,
  readIndex,
  refuseUnsigned,
  refuseUpstream,
  type IndexPromise,
  type Promised,
} from '../upstream-files.ts'
import { describe, identityOf } from './control.ts'
import { debPlaces } from './upstream-places.ts'
import { parseParagraph, valueOf } from './paragraph.ts'
import { relationsOf } from './index-relations.ts'

/** Debian's own of sid has 193 KB. */
const MAX_ROOT = 16 * 2 ** 20
/** How far ahead of our clock a root may be. Source: apt.conf(5), Acquire::Max-FutureTime. */
const AHEAD_MS = 10_000
/** Smallest first. Many repositories list the plain form and few serve it, but its entry gives the unpacked size. */
const ENDINGS = ['.xz', '.zst', '.gz', '.bz2', '']

/** A Release file: its fields by lower-case name, and the files it names. */
interface Release {
  readonly fields: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, Promised>
}

function parseFile(line: string, algorithm: Promised['algorithm']): readonly [path: string, file: Promised] {
  const [, digest = '', size = '', path = ''] = /^ *([0-9a-f]+) +(\d{1,15}) +(\S+)$/i.exec(line) ?? []
  if (!isDigest(algorithm, digest))
    malformed(`${quote(line)} names no file: a ${algorithm.toUpperCase()}, a size and a path are needed`)
  return [path, { size: Number(size), algorithm, digest: digest.toLowerCase() }]
}

/** @throws Malformed. Source: https://wiki.debian.org/DebianRepository/Format, "Release" files */
function parseRelease(text: string): Release {
  const fields = new Map<string, string>()
  const files = new Map<string, Promised>()
  let field = ''
  for (const line of text.split('\n')) {
    if (trimBlanks(line) === '') continue
    if (/^[ \t]/.test(line)) {
      if (!isAlgorithm(field)) continue
      const [path, file] = parseFile(line, field)
      files.set(path.replace(/^(\.\/)+/, ''), file)
      continue
    }
    const colon = line.indexOf(':')
    if (colon < 1) malformed(`${quote(line)} is no field: a name and a colon are needed`)
    field = line.slice(0, colon).toLowerCase()
    if (fields.has(field)) malformed(`it has the field ${line.slice(0, colon)} twice`)
    fields.set(field, trimBlanks(line.slice(colon + 1)))
  }
  return { fields, files }
}

interface Signed {
  readonly path: RelPath
  readonly bytes: Buffer
  readonly text: string
  readonly by: readonly string[]
}

/** InRelease where there is one, else Release with its signature beside it. */
async function fetchRelease({ fetch, keys, unsigned }: UpstreamPlace, folder: string): Promise<Signed> {
  const [inRelease, release] = [relPath(`${folder}InRelease`), relPath(`${folder}Release`)]
  const whole = await fetchWhole(fetch, inRelease, MAX_ROOT)
  if (whole !== undefined) {
    const read = await keys.clearsigned(whole)
    if ('why' in read) return refuseUnsigned(inRelease, read)
    return { path: inRelease, bytes: whole, ...read }
  }
  const bytes = await fetchWhole(fetch, release, MAX_ROOT)
  if (bytes === undefined) return refuseUpstream(inRelease, 'missing', 'there is neither InRelease nor Release')
  const detached = await fetchWhole(fetch, relPath(`${release}.gpg`), MAX_ROOT)
  const signed = { path: release, bytes, text: bytes.toString('utf8') }
  if (detached === undefined)
    return unsigned === true
      ? { ...signed, by: [] }
      : refuseUpstream(release, 'unsigned', 'there is neither InRelease nor Release.gpg beside it')
  const read = await keys.detached(bytes, detached)
  return 'why' in read ? refuseUnsigned(release, read) : { ...signed, ...read }
}

function dateOf({ fields }: Release, name: string): Date | undefined {
  const text = fields.get(name)
  if (text === undefined) return undefined
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? malformed(`its ${name} is ${quote(text)}, which is no date`) : at
}

function describeRoot(release: Release, { path, bytes, by }: Signed): UpstreamRoot {
  const [at, validUntil] = [dateOf(release, 'date'), dateOf(release, 'valid-until')]
  const words = (['origin', 'label', 'suite', 'codename'] as const).flatMap(name => {
    const value = release.fields.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    path,
    sha256: hexOf('sha256', bytes),
    signedBy: by,
    ...(at === undefined ? {} : { at }),
    ...(validUntil === undefined ? {} : { validUntil }),
    ...Object.fromEntries(words),
  }
}

/** @throws upstream_refused for a root of another time or another suite, whose signature is good as well */
function checkRoot(root: UpstreamRoot, { now, allowExpired }: UpstreamPlace, suite: string): void {
  const { path, at, validUntil } = root
  if (at !== undefined && at.getTime() > now.getTime() + AHEAD_MS)
    refuseUpstream(path, 'not_yet_valid', `it was made at ${at.toISOString()}, which is in the future`)
  if (validUntil !== undefined && validUntil < now && allowExpired !== true)
    refuseUpstream(path, 'expired', `it was valid until ${validUntil.toISOString()}`)
  if (suite.endsWith('/') || [root.suite, root.codename].includes(suite)) return
  if (root.suite !== undefined || root.codename !== undefined)
    refuseUpstream(path, 'other_suite', `it is of ${root.codename ?? root.suite}, and not of ${suite}`)
}

/** The folders whose `Packages` are read, below that of the root. */
function foldersOf(release: Release, { components = ['main'], archs = [] }: UpstreamPlace, suite: string): string[] {
  if (suite.endsWith('/')) return ['']
  const listed = (release.fields.get('architectures') ?? '').split(/\s+/)
  // without that word the others do not hold what is for all
  const apart = release.fields.get('no-support-for-architecture-all') !== 'Packages' && listed.includes('all')
  return components.flatMap(component => {
    const folders = archs.map(arch => `${component}/binary-${arch}/`)
    const all = `${component}/binary-all/`
    const isListed = ENDINGS.some(ending => release.files.has(`${all}Packages${ending}`))
    return apart && isListed ? [...new Set([...folders, all])] : folders
  })
}

/** The forms of one index that can be fetched, the best first. */
function formsOf(release: Release, of: { readonly root: string; readonly folder: string }): IndexPromise[] {
  const plain = release.files.get(`${of.folder}Packages`)
  const byHash = release.fields.get('acquire-by-hash') === 'yes'
  return ENDINGS.flatMap(ending => {
    const file = release.files.get(`${of.folder}Packages${ending}`)
    if (file === undefined) return []
    const folder = `${of.root}${of.folder}`
    const path = relPath(`${folder}Packages${ending}`)
    return [
      {
        path,
        ...file,
        ...(byHash ? { byHash: relPath(`${folder}by-hash/${file.algorithm.toUpperCase()}/${file.digest}`) } : {}),
        compression: compressionOf(path),
        ...(plain === undefined || ending === '' ? {} : { plain }),
      },
    ]
  })
}

/** `Filename` counts from the base, in a flat repository too. @throws Malformed */
function packageOf(bytes: Buffer): UpstreamPackage {
  const paragraph = parseParagraph(bytes, 'an entry of Packages')
  const identity = identityOf(paragraph)
  const about = describe(paragraph, identity)
  const size = valueOf(paragraph, 'size')
  const named = `${identity.name} ${identity.version}`
  if (!/^\d{1,15}$/.test(size)) malformed(`the entry of ${named} has no Size`)
  const digests = Object.fromEntries(
    (['sha256', 'sha512'] as const)
      .map(name => [name, valueOf(paragraph, name).toLowerCase()] as const)
      .filter(([name, digest]) => isDigest(name, digest)),
  )
  if (Object.keys(digests).length === 0) malformed(`the entry of ${named} has neither SHA256 nor SHA512`)
  const { source, source_version, summary, section } = about
  return {
    identity,
    path: relPath(valueOf(paragraph, 'filename').replace(/^(\.\/)+/, '')),
    size: Number(size),
    digests,
    source,
    source_version,
    summary,
    ...(section === undefined ? {} : { section }),
    notes: notesOf(
      {
        homepage: valueOf(paragraph, 'homepage'),
        license: undefined,
        maintainer: valueOf(paragraph, 'maintainer'),
        installed_size: valueOf(paragraph, 'installed-size'),
      },
      1024,
    ),
    relations: relationsOf(paragraph),
  }
}

async function* readPackages(
  { fetch }: UpstreamPlace,
  { forms, component }: { readonly forms: readonly IndexPromise[]; readonly component: string | undefined },
): AsyncGenerator<UpstreamEntry> {
  const { path } = forms[0] ?? { path: 'Packages' }
  for await (const text of cutEntries(eitherForm(fetch, forms), path, '\n\n')) {
    if (trimBlanks(text.toString('latin1')).replaceAll('\n', '') === '') continue
    const whole = text.at(-1) === 0x0a ? text : Buffer.concat([text, Buffer.from('\n')])
    const entry = { digest: digestOfEntry(text), read: () => parsing(path, () => packageOf(whole)) }
    yield component === undefined ? entry : { ...entry, component }
  }
}

/** The first form that the server has: roots also list forms that are not served. */
async function* eitherForm(fetch: UpstreamPlace['fetch'], forms: readonly IndexPromise[]): AsyncGenerator<Buffer> {
  for (const [at, form] of forms.entries()) {
    const bytes = readIndex(fetch, form)
    const first = await bytes.next().catch((error: unknown) => {
      const isMissing = isRefusal(error, 'upstream_refused') && error.facts.fault === 'missing'
      if (!isMissing || at === forms.length - 1) throw error
      return undefined
    })
    if (first === undefined) continue
    if (first.done !== true) yield first.value
    yield* bytes
    return
  }
}

/** APT repositories: of suites and components, and flat ones. */
export const debUpstream: UpstreamReader = {
  places: debPlaces,
  atOnce: 2,
  hasSuites: true,
  async open(place): Promise<Upstream> {
    const suite = place.suite ?? ''
    const folder = suite.endsWith('/') ? suite.replace(/^(\.?\/)+/, '') : `dists/${suite}/`
    const signed = await fetchRelease(place, folder)
    const { release, root } = parsing(signed.path, () => {
      const parsed = parseRelease(signed.text)
      return { release: parsed, root: describeRoot(parsed, signed) }
    })
    checkRoot(root, place, suite)
    const indexes = foldersOf(release, place, suite).map(below => {
      const forms = parsing(signed.path, () => formsOf(release, { root: folder, folder: below }))
      if (forms.length === 0) refuseUpstream(signed.path, 'missing', `it names no ${below}Packages`)
      return { forms, component: /^(.+)\/binary-[^/]+\/$/.exec(below)?.[1] }
    })
    return {
      roots: [root],
      async *entries() {
        for (const index of indexes) yield* readPackages(place, index)
      },
    }
  },
}
