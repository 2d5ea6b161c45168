import { SaxesParser } from 'saxes'
import { StringDecoder } from 'node:string_decoder'
import { malformed } from '../../lib/limited.ts'
import { cvesIn, type Advisory, type Row } from '../advisory.ts'
import type { Ecosystem } from '../match/ecosystems.ts'
import type { FeedContext } from './distribution-feeds.ts'
import { modulesOf } from '../match/modules.ts'
import { severityOf } from '../match/severity.ts'

/** A package of an update, from its attributes. */
interface Package {
  readonly name: string
  readonly epoch: string
  readonly version: string
  readonly release: string
  readonly arch: string
  readonly module: string | undefined
  readonly collection: Collection | undefined
}

/** A repository of an update, by its names. */
interface Collection {
  readonly names: string[]
}

interface Update {
  readonly type: string
  id: string
  title: string
  release: string
  severity: string
  description: string
  modified: string
  readonly references: { readonly href: string; readonly id: string; readonly title: string }[]
  readonly packages: Package[]
  readonly collections: Collection[]
}

/** How updates name their distribution: in their release, or in the name of their repository. */
const RELEASES: readonly (readonly [pattern: RegExp, ecosystem: (release: string) => Ecosystem])[] = [
  [/\bAlmaLinux(?: OS)? (\d+)\b|\balmalinux-(\d+)-/i, release => `almalinux-${release}`],
  [/\bRocky Linux (\d+)\b|\brocky-linux-(\d+)-/i, release => `rocky-${release}`],
  [/\bOracle Linux (\d+)\b|\bol(\d+)_/i, release => `oracle-${release}`],
  [/\bFedora (\d+)\b|^F(\d+)$/, release => `fedora-${release}`],
  [/\b(?:Red Hat Enterprise Linux|RHEL) (\d+)\b|\brhel-(\d+)-/i, release => `redhat-${release}`],
  [/\bopenSUSE Leap (\d+\.\d+)\b|\bopenSUSE-(?:SLE-|Leap-)?(\d+\.\d+)\b/i, release => `opensuse-leap-${release}`],
  [/\bopenSUSE[ -](Tumbleweed)\b/i, () => 'opensuse-tumbleweed'],
  [/\bAmazon Linux (\d+)\b|\bamazon-linux-(\d+)\b|\bamazonlinux(\d+)?-/i, release => `amazon-${release}`],
]

/** The ecosystem of the first text that names one. */
function namedIn(texts: readonly string[]): Ecosystem | undefined {
  for (const text of texts) {
    for (const [pattern, ecosystem] of RELEASES) {
      const found = pattern
        .exec(text)
        ?.slice(1)
        .find(group => group !== undefined)
      if (found !== undefined) return ecosystem(found)
    }
  }
  return undefined
}

/**
 * The ecosystem of each package of an update: from its collection, else from the update. If the caller knows it, that
 * one counts; if the update has a collection for it, only the packages in that collection.
 * @throws Malformed when none is named
 */
function byEcosystem(
  { release, id, collections, packages }: Update,
  given: Ecosystem | undefined,
): ReadonlyMap<Ecosystem | undefined, readonly Package[]> {
  const named = new Map(collections.map(collection => [collection, namedIn(collection.names)]))
  const ofUpdate = namedIn([release, ...collections.flatMap(({ names }) => names), id])
  if (given === undefined && ofUpdate === undefined)
    malformed('updateinfo.xml does not say which distribution it is for; name one with the field distribution')
  const isListed = given !== undefined && [...named.values()].includes(given)
  return Map.groupBy(packages, ({ collection }) => {
    const own = collection === undefined ? undefined : named.get(collection)
    if (given === undefined) return own ?? ofUpdate
    return isListed && own !== undefined && own !== given ? undefined : given
  })
}

const MOST_TEXT = 200_000
const MOST_REFERENCES = 4

/** `2024-01-31 00:00:00`, ISO 8601, or seconds since 1970 as SUSE writes them. */
function readDate(text: string | undefined): string {
  if (text === undefined || text === '') return ''
  const at = /^\d{9,11}$/.test(text)
    ? new Date(Number(text) * 1000)
    : new Date(`${text.replace(' ', 'T')}${/\d\d:\d\d/.test(text) && !/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? 'Z' : ''}`)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}

/** The CVEs that an update fixes: those in its references, else those in its text. */
function cvesOf({ references, title, description, type }: Update): string[] {
  const referred = [...new Set(references.flatMap(({ id, title: said, href }) => cvesIn(`${id} ${said} ${href}`)))]
  return referred.length > 0 || type !== 'security' ? referred : cvesIn(`${title} ${description}`)
}

function advisoryOf(update: Update, source: string): Advisory {
  const severity = severityOf(update.severity) ?? severityOf(/^(\w+): /.exec(update.title)?.[1])
  const links = [
    ...new Set(update.references.map(({ href }) => href).filter(href => /^https?:\/\/\S{1,500}$/.test(href))),
  ]
  return {
    id: update.id,
    source,
    rank: 3,
    cves: cvesOf(update),
    ...(severity === undefined ? {} : { severity }),
    ...(update.title === '' ? {} : { summary: update.title.slice(0, 300) }),
    ...(links.length === 0 ? {} : { references: links.slice(0, MOST_REFERENCES) }),
    ...(update.modified === '' ? {} : { modified: update.modified }),
  }
}

/**
 * One row for each build: architectures of one version are joined. Source packages are skipped, as nobody installs
 * them.
 */
function rowsOf({ title }: Update, packages: readonly Package[], { orders, sink }: FeedContext): Row[] {
  const rows = new Map<string, { readonly row: Row; readonly archs: Set<string> }>()
  for (const { name, epoch, version, release, arch, module } of packages) {
    if (arch === 'src' || arch === 'nosrc') continue
    // some tools write Python's word for none
    const to = `${/^(?:0*|None)$/.test(epoch) ? '' : `${epoch}:`}${version}-${release}`
    if (name === '' || !orders.rpm.isVersion(to)) {
      sink.skip(name === '' ? 'no_package' : 'bad_version')
      continue
    }
    const key = `${name}\0${to}\0${module ?? ''}`
    const modules = modulesOf([{ from: '0', to }], module, title)
    const known = rows.get(key) ?? {
      row: { name, by: 'binary', spans: [{ from: '0', to }], ...(modules === undefined ? {} : { modules }) },
      archs: new Set<string>(),
    }
    if (arch !== '') known.archs.add(arch)
    rows.set(key, known)
  }
  return [...rows.values()].map(({ row, archs }) => (archs.size === 0 ? row : { ...row, archs: [...archs].sort() }))
}

export interface UpdateinfoResult {
  readonly records: number
  readonly newest: string
  readonly ecosystems: ReadonlySet<Ecosystem>
}

/**
 * Reads updateinfo.xml of an RPM repository as it streams: updates, their builds, references and severity. An update
 * without the type security counts when it refers to a CVE.
 * @param given  the ecosystem, where the caller knows it; else each update must name its own
 * @throws Malformed when it is no such file, or an update names no distribution
 * Source: https://fedoraproject.org/wiki/Updateinfo; createrepo_c writes and dnf reads the same
 */
export async function readUpdateinfo(
  chunks: AsyncIterable<Uint8Array>,
  context: FeedContext,
  given?: Ecosystem,
): Promise<UpdateinfoResult> {
  const parser = new SaxesParser({ position: false })
  const ecosystems = new Set<Ecosystem>()
  let records = 0
  let newest = ''
  let root = ''
  let update: Update | undefined
  let module: string | undefined
  let collection: Collection | undefined
  let element = ''
  let text = ''

  function finish(done: Update): void {
    records++
    if (done.modified > newest && done.modified <= (context.now ?? done.modified)) newest = done.modified
    const packages = byEcosystem(done, given)
    const advisory = advisoryOf(done, context.source)
    if (done.id === '' || (done.type !== 'security' && advisory.cves.length === 0))
      return context.sink.skip(done.id === '' ? 'malformed' : 'not_security')
    for (const [ecosystem, list] of packages) {
      if (ecosystem === undefined) {
        list.forEach(() => context.sink.skip('other_ecosystem'))
        continue
      }
      ecosystems.add(ecosystem)
      for (const row of rowsOf(done, list, context)) context.sink.add({ ecosystem, advisory, row })
    }
  }

  parser.on('opentag', ({ name, attributes }) => {
    const of = (key: string): string => {
      const value = attributes[key]
      return typeof value === 'string' ? value.trim() : ''
    }
    if (root === '') root = name
    element = name
    text = ''
    if (name === 'update')
      update = {
        type: of('type'),
        id: '',
        title: '',
        release: '',
        severity: '',
        description: '',
        modified: '',
        references: [],
        packages: [],
        collections: [],
      }
    else if (name === 'updated' || (name === 'issued' && update?.modified === '')) {
      if (update !== undefined) update.modified = readDate(of('date')) || update.modified
    } else if (name === 'reference') update?.references.push({ href: of('href'), id: of('id'), title: of('title') })
    else if (name === 'collection') {
      module = undefined
      collection = { names: [of('short')] }
      update?.collections.push(collection)
    } else if (name === 'module') module = `${of('name')}:${of('stream')}`
    else if (name === 'package')
      update?.packages.push({
        name: of('name'),
        epoch: of('epoch') || '0',
        version: of('version'),
        release: of('release'),
        arch: of('arch'),
        module,
        collection,
      })
  })
  const take = (piece: string): void => {
    if (text.length < MOST_TEXT) text += piece
  }
  parser.on('text', take)
  parser.on('cdata', take)
  parser.on('closetag', ({ name }) => {
    if (update !== undefined && name === element) {
      const value = text.trim()
      if (name === 'id' || name === 'title' || name === 'release' || name === 'severity' || name === 'description')
        update[name] = value
      else if (name === 'name') collection?.names.push(value)
    }
    if (name === 'update' && update !== undefined) {
      finish(update)
      update = undefined
      collection = undefined
    }
    element = ''
    text = ''
  })
  const decoder = new StringDecoder('utf8')
  try {
    for await (const chunk of chunks) parser.write(decoder.write(chunk))
    parser.close()
  } catch (error) {
    if (error instanceof Error && error.name === 'Error')
      malformed(`updateinfo.xml is damaged (${error.message.slice(0, 200)})`, error)
    throw error
  }
  if (root !== 'updates') malformed('the file is XML, but no updateinfo.xml')
  return { records, newest, ecosystems }
}
