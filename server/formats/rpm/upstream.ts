import { SaxesParser } from 'saxes'
import { relPath } from '../../core/identity.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { boundElements } from './bounded-xml.ts'
import type { Upstream, UpstreamEntry, UpstreamPackage, UpstreamPlace, UpstreamReader } from '../upstream.ts'
import {
  compressionOf,
  cutEntries,
  fetchWhole,
  hexOf,
  isAlgorithm,
  isDigest,
  notesOf,
  parsing,
  pathIn,
  readIndex,
  refuseUnsigned,
  refuseUpstream,
  type IndexPromise,
  type Promised,
} from '../upstream-files.ts'
import { verifyRpm } from './verify.ts'
import { complain, sourceOf } from './describe.ts'
import { readModules } from './modules.ts'
import { createPrimaryParser, type PrimaryPackage } from './primary.ts'
import { relationsOf } from './index-relations.ts'
import { printEvr } from './version.ts'

const REPOMD = relPath('repodata/repomd.xml')
const SIGNATURE = relPath('repodata/repomd.xml.asc')
const MAX_ROOT = 16 * 2 ** 20

/** A file that repomd.xml names, by the words it uses. */
type Data = ReadonlyMap<string, { readonly text: string; readonly attributes: Readonly<Record<string, string>> }>

interface Repomd {
  readonly revision: string
  readonly data: ReadonlyMap<string, Data>
}

/** Those of Fedora name some twenty. */
const MAX_DATA = 1000

/** @throws Malformed */
function parseRepomd(text: string): Repomd {
  const parser = new SaxesParser()
  const path: string[] = []
  const data = new Map<string, Map<string, { text: string; attributes: Record<string, string> }>>()
  let revision = ''
  let type = ''
  boundElements(parser, () => path.length)
  parser.on('error', error => malformed(`it is no XML (${error.message.slice(0, 200)})`, error))
  parser.on('doctype', () => malformed('it has a document type declaration'))
  parser.on('opentag', ({ name, attributes }) => {
    path.push(name)
    if (path.length === 1 && name !== 'repomd') malformed(`it is a document of ${quote(name)}`)
    if (path.length === 2 && name === 'data') {
      type = attributes.type ?? ''
      if (data.has(type)) malformed(`it names two files of the type ${quote(type)}`)
      if (data.size === MAX_DATA) malformed(`it names more than ${MAX_DATA} files`)
      data.set(type, new Map())
    }
    if (path.length === 3 && path[1] === 'data') data.get(type)?.set(name, { text: '', attributes })
  })
  parser.on('text', text => {
    if (path.length === 2 && path[1] === 'revision') revision += text
    const field = path.length === 3 ? data.get(type)?.get(path[2] ?? '') : undefined
    if (field !== undefined) field.text += text.trim()
  })
  parser.on('closetag', () => {
    path.pop()
  })
  parser.write(text).close()
  return { revision, data }
}

/** A checksum and a size. @throws Malformed */
function promiseOf(data: Data, of: readonly [checksum: string, size: string], type: string): Promised {
  const [checksum, size] = of.map(name => data.get(name))
  const algorithm = checksum?.attributes.type ?? ''
  if (!isAlgorithm(algorithm))
    return malformed(`it names ${type} by ${quote(algorithm)}; a SHA-256 or SHA-512 is needed`)
  if (checksum === undefined || !isDigest(algorithm, checksum.text) || !/^\d{1,15}$/.test(size?.text ?? ''))
    return malformed(`it names ${type} without a whole checksum and a size`)
  return { algorithm, digest: checksum.text.toLowerCase(), size: Number(size?.text) }
}

/** @throws Malformed */
function indexOf(data: Data, type: string): IndexPromise {
  const location = data.get('location')?.attributes ?? {}
  if (location['xml:base'] !== undefined) malformed(`it names a file of ${type} that lies in another place (xml:base)`)
  const path = pathIn(REPOMD, location.href ?? '')
  const isPacked = compressionOf(path) !== 'none' && data.has('open-checksum') && data.has('open-size')
  return {
    path,
    ...promiseOf(data, ['checksum', 'size'], type),
    compression: compressionOf(path),
    ...(isPacked ? { plain: promiseOf(data, ['open-checksum', 'open-size'], type) } : {}),
  }
}

const digits = (text: string | undefined): text is string => text !== undefined && /^\d{1,15}$/.test(text)

/** @throws Malformed */
function packageOf({ texts, attributes, lists, files }: PrimaryPackage): UpstreamPackage {
  const [name, arch] = [texts.get('name') ?? '', texts.get('arch') ?? '']
  const { epoch = '0', ver: version = '', rel: release = '' } = attributes.get('version') ?? {}
  const identity = { format: 'rpm', name, version: printEvr({ epoch, version, release }), arch } as const
  // a source package has a `<package>` entry too
  const why = arch === 'src' || arch === 'nosrc' ? undefined : complain(identity)
  if (why !== undefined) malformed(`an entry of primary: ${why}`)
  const size = attributes.get('size')?.package
  const location = attributes.get('location') ?? {}
  const digest = (texts.get('checksum') ?? '').toLowerCase()
  const algorithm = attributes.get('checksum')?.type ?? ''
  if (!digits(size)) malformed(`the entry of ${name} has no size`)
  if (location['xml:base'] !== undefined) malformed(`the entry of ${name} lies in another place (xml:base)`)
  if (!isAlgorithm(algorithm) || !isDigest(algorithm, digest))
    return malformed(`the entry of ${name} has neither a SHA-256 nor a SHA-512`)
  const section = texts.get('rpm:group') ?? ''
  return {
    identity,
    path: relPath((location.href ?? '').replace(/^(\.\/)+/, '')),
    size: Number(size),
    digests: { [algorithm]: digest },
    ...sourceOf({ sourcerpm: texts.get('rpm:sourcerpm') ?? '', version, release }, name),
    summary: texts.get('summary') ?? '',
    ...(section === '' ? {} : { section }),
    notes: notesOf({
      homepage: texts.get('url'),
      license: texts.get('rpm:license'),
      maintainer: texts.get('packager') || texts.get('rpm:vendor'),
      installed_size: attributes.get('size')?.installed,
    }),
    relations: relationsOf({ lists, files }, identity),
  }
}

/** Text before the first `<package>` belongs to it; text after the last one ends the document. */
async function* readPrimary({ fetch }: UpstreamPlace, index: IndexPromise): AsyncGenerator<UpstreamEntry> {
  const { path } = index
  let parser: ReturnType<typeof createPrimaryParser> | undefined
  let tail = ''
  for await (const bytes of cutEntries(readIndex(fetch, index), path, '</package>')) {
    let text = bytes.toString('utf8')
    if (!text.endsWith('</package>')) {
      tail = text.trim()
      continue
    }
    if (parser === undefined) {
      const start = /<package[\s>]/.exec(text)?.index ?? 0
      parser = createPrimaryParser(text.slice(0, start))
      text = text.slice(start)
    }
    const element = text.trim()
    const { read } = parser
    yield { digest: hexOf('sha1', element), read: () => parsing(path, () => packageOf(read(element))) }
  }
  const isEmpty = parser === undefined && /<metadata[^>]*\/>$|<metadata[^>]*>\s*<\/metadata>$/.test(tail)
  if (tail !== '</metadata>' && !isEmpty) refuseUpstream(path, 'malformed', 'it does not end with </metadata>')
}

/** repomd.xml and its signature: two requests. A publication between them makes the check fail; try again then. */
async function fetchRoot({ fetch, keys, unsigned }: UpstreamPlace): Promise<{ bytes: Buffer; by: readonly string[] }> {
  const bytes = await fetchWhole(fetch, REPOMD, MAX_ROOT)
  if (bytes === undefined) return refuseUpstream(REPOMD, 'missing', 'it is not there')
  if (unsigned === true) return { bytes, by: [] }
  const signature = await fetchWhole(fetch, SIGNATURE, MAX_ROOT)
  if (signature === undefined) return refuseUpstream(REPOMD, 'unsigned', 'there is no repomd.xml.asc beside it')
  const read = await keys.detached(bytes, signature)
  return 'why' in read ? refuseUnsigned(REPOMD, read) : { bytes, by: read.by }
}

/** When it was made: its revision, or its youngest file, where those are seconds since 1970. */
function madeAt({ revision, data }: Repomd): Date | undefined {
  const times = [revision, ...[...data.values()].map(one => one.get('timestamp')?.text.split('.')[0])].filter(digits)
  const seconds = Math.max(...times.map(Number).filter(one => one > 10 ** 9 && one < 10 ** 11))
  return Number.isFinite(seconds) ? new Date(seconds * 1000) : undefined
}

/** rpm-md repositories, as createrepo_c writes them. Delta packages are not read. */
export const rpmUpstream: UpstreamReader = {
  namesAddresses: true,
  verifyPackage: verifyRpm,
  places: ({ paths }) =>
    paths
      .filter(path => path === REPOMD || path.endsWith(`/${REPOMD}`))
      .map(path => ({ name: path, base: path.slice(0, -REPOMD.length), place: {} })),
  async open(place): Promise<Upstream> {
    const { bytes, by } = await fetchRoot(place)
    const { repomd, index, modules } = parsing(REPOMD, () => {
      const parsed = parseRepomd(bytes.toString('utf8'))
      const [primary, modular] = ['primary', 'modules'].map(type => parsed.data.get(type))
      return {
        repomd: parsed,
        index: indexOf(primary ?? malformed('it names no primary'), 'primary'),
        modules: modular && indexOf(modular, 'modules'),
      }
    })
    const at = madeAt(repomd)
    return {
      roots: [{ path: REPOMD, sha256: hexOf('sha256', bytes), signedBy: by, ...(at === undefined ? {} : { at }) }],
      entries: () => readPrimary(place, index),
      ...(modules === undefined ? {} : { modules: () => readModules(place.fetch, modules) }),
    }
  },
}
