import { SaxesParser } from 'saxes'
import { spdxExpression } from '../../core/licences/judge.ts'
import { identifierOrName, licencesNamed } from '../../core/licences/names.ts'
import { malformed, printBytes, quote } from '../../lib/limited.ts'
import { boundElements } from '../rpm/bounded-xml.ts'
import type { Coordinates } from './coordinates.ts'
import type { MavenDependency } from './facts.ts'

/** More than any pom has: that of a large BOM has 400 KB. */
export const MAX_POM_BYTES = 8 * 2 ** 20

const MOST_DEPENDENCIES = 10_000
const MOST_PROPERTIES = 10_000
const LONGEST_VALUE = 2_000
const LONGEST_DESCRIPTION = 20_000
const DEEPEST_PROPERTY = 8

/** What a pom says by itself. What others have to say is left open. */
export interface Pom {
  readonly self: Coordinates
  readonly parent?: Coordinates
  readonly packaging: string
  readonly name?: string
  readonly description?: string
  readonly url?: string
  /** Identifiers of the SPDX list where a name or an address is known, else the names. */
  readonly licences: readonly string[]
  readonly maintainer?: string
  readonly dependencies: readonly MavenDependency[]
  readonly imports: readonly MavenDependency[]
}

type Fields = Map<string, string>

interface Raw {
  readonly project: Fields
  readonly properties: Fields
  readonly licences: Fields[]
  readonly people: Fields[]
  readonly dependencies: Fields[]
  readonly managed: Fields[]
}

const ENCODINGS: ReadonlySet<string> = new Set([
  'utf-8',
  'utf8',
  'us-ascii',
  'ascii',
  'iso-8859-1',
  'latin1',
  'windows-1252',
])

/** The text of an XML document. @throws Malformed */
export function decodeXml(bytes: Buffer): string {
  const [, label = 'utf-8'] =
    /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(bytes.toString('latin1', 0, 200)) ??
    []
  if (!ENCODINGS.has(label.toLowerCase())) malformed(`it is written in ${quote(label)}; write it in UTF-8`)
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes)
  } catch (error) {
    return malformed(`it is not written in ${label}, as it says`, error)
  }
}

/**
 * Calls `each` with the text of every element that has no other in it, by its path: `project/parent/version`; and
 * `end` with the path of every other when it ends. Entities of its own and documents that name others are refused.
 * @throws Malformed
 */
export function readLeaves(
  xml: string,
  { each, end }: { readonly each: (path: string, text: string) => void; readonly end?: (path: string) => void },
): void {
  const parser = new SaxesParser()
  const open: string[] = []
  let text = ''
  let isLeaf = false
  boundElements(parser, () => open.length)
  parser.on('doctype', () => malformed('it has a DOCTYPE, which may define entities. Leave it out'))
  parser.on('error', error => malformed(`it is no well-formed XML (${error.message.slice(0, 200)})`, error))
  parser.on('opentag', ({ name }) => {
    open.push(name.replace(/^.*:/, ''))
    text = ''
    isLeaf = true
  })
  const add = (more: string): void => {
    if (text.length <= LONGEST_DESCRIPTION) text += more
  }
  parser.on('text', add)
  parser.on('cdata', add)
  parser.on('closetag', () => {
    const path = open.join('/')
    open.pop()
    if (isLeaf) each(path, text.trim())
    else end?.(path)
    isLeaf = false
    text = ''
  })
  parser.write(xml).close()
}

const DEPENDENCY = /^project\/(dependencyManagement\/)?dependencies\/dependency(?:\/([^/]+))?$/
const LICENCE = /^project\/licenses\/license(?:\/(name|url))?$/
const PERSON = /^project\/(?:developers\/developer|organization)(?:\/([^/]+))?$/

const MOST_LICENCES = 50

/** One `<license>`: by its name, else by its address, where one of them says it. */
function licenceOf(fields: Fields): string | undefined {
  const texts = ['name', 'url'].flatMap(key => dropEmpty(fields.get(key)) ?? [])
  const clear = texts.find(text => spdxExpression(text) !== undefined || licencesNamed(text)?.length === 1)
  return clear === undefined ? texts[0] : identifierOrName(clear)
}

function readRaw(xml: string): Raw {
  const raw: Raw = {
    project: new Map(),
    properties: new Map(),
    licences: [],
    people: [],
    dependencies: [],
    managed: [],
  }
  let root: string | undefined
  let dependency: Fields = new Map()
  let person: Fields = new Map()
  let licence: Fields = new Map()
  const each = (path: string, text: string): void => {
    root ??= path.split('/')[0]
    const value = text.slice(0, LONGEST_VALUE)
    const [, first = '', second = '', ...deeper] = path.split('/')
    const wanted = DEPENDENCY.exec(path)?.[2]
    const said = PERSON.exec(path)?.[1]
    const ofLicence = LICENCE.exec(path)?.[1]
    if (wanted !== undefined) dependency.set(wanted, value)
    else if (said !== undefined) person.set(said, value)
    else if (second === '') raw.project.set(first, first === 'description' ? text : value)
    else if (first === 'parent' && deeper.length === 0) raw.project.set(`parent.${second}`, value)
    else if (first === 'properties' && deeper.length === 0) raw.properties.set(second, value)
    else if (ofLicence !== undefined) licence.set(ofLicence, value)
    if (raw.properties.size > MOST_PROPERTIES) malformed(`it has more than ${MOST_PROPERTIES} properties`)
  }
  const end = (path: string): void => {
    root ??= path.split('/')[0]
    const [isDependency, managed] = DEPENDENCY.exec(path) ?? []
    if (isDependency !== undefined) {
      const list = managed === undefined ? raw.dependencies : raw.managed
      if (list.push(dependency) > MOST_DEPENDENCIES) malformed(`it names more than ${MOST_DEPENDENCIES} dependencies`)
      dependency = new Map()
    } else if (LICENCE.exec(path)?.[1] === undefined && LICENCE.test(path)) {
      if (raw.licences.length < MOST_LICENCES) raw.licences.push(licence)
      licence = new Map()
    } else if (PERSON.test(path)) {
      if (raw.people.length < 100) raw.people.push(person)
      person = new Map()
    }
  }
  readLeaves(xml, { each, end })
  if (root !== 'project') malformed('its first element is not <project>')
  return raw
}

/** Fills in `${name}` as far as the pom says it. A property that leads to itself stays as it is. */
function createFill(properties: ReadonlyMap<string, string>): (text: string | undefined) => string | undefined {
  return text => {
    let value = text
    for (let n = 0; n < DEEPEST_PROPERTY && value?.includes('${') === true; n++) {
      value = value.replace(/\$\{([^${}]{1,200})\}/g, (whole, name: string) => properties.get(name.trim()) ?? whole)
      if (value.length > LONGEST_VALUE) return malformed('its properties grow without end as they are filled in')
    }
    return value
  }
}

const isOpen = (text: string): boolean => text.includes('${')

/** What Maven knows of a project by itself, and the older names of it. */
function withOwn({ project, properties }: Raw): ReadonlyMap<string, string> {
  const all = new Map(properties)
  for (const key of ['groupId', 'artifactId', 'version', 'packaging', 'name', 'url']) {
    const inherited = key === 'groupId' || key === 'version' ? project.get(`parent.${key}`) : undefined
    const value = project.get(key) ?? inherited
    for (const name of value === undefined ? [] : [`project.${key}`, `pom.${key}`]) all.set(name, value ?? '')
    const parents = project.get(`parent.${key}`)
    if (parents !== undefined) all.set(`project.parent.${key}`, parents)
  }
  return all
}

/** A coordinate that the pom must say itself. @throws Malformed */
function need(what: string, value: string | undefined): string {
  if (value === undefined || value === '') return malformed(`it says no ${what}, neither its own nor its parent's`)
  if (isOpen(value))
    return malformed(
      `its ${what} is ${quote(value)}, which it does not say itself. The flatten-maven-plugin fills that in`,
    )
  return value
}

const dropEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

function readDependency(
  fields: Fields,
  fill: (text: string | undefined) => string | undefined,
  managed: ReadonlyMap<string, MavenDependency> = new Map(),
): MavenDependency | undefined {
  const [group, artifact] = [fill(fields.get('groupId')), fill(fields.get('artifactId'))]
  if (group === undefined || artifact === undefined || group === '' || artifact === '') return undefined
  const type = dropEmpty(fill(fields.get('type')))
  const classifier = dropEmpty(fill(fields.get('classifier')))
  const above = managed.get(`${group}:${artifact}:${type ?? 'jar'}:${classifier ?? ''}`)
  const version = dropEmpty(fill(fields.get('version'))) ?? above?.version
  return {
    group,
    artifact,
    ...(version === undefined || isOpen(version) ? {} : { version }),
    scope: dropEmpty(fill(fields.get('scope'))) ?? above?.scope ?? 'compile',
    ...(fill(fields.get('optional')) === 'true' ? { optional: true as const } : {}),
    ...(type === undefined || type === 'jar' ? {} : { type }),
    ...(classifier === undefined ? {} : { classifier }),
  }
}

function parentOf(project: Fields, fill: (text: string | undefined) => string | undefined): Coordinates | undefined {
  const [group, artifact, version] = ['groupId', 'artifactId', 'version'].map(key => fill(project.get(`parent.${key}`)))
  if (artifact === undefined) return undefined
  return {
    group: need('group of its parent', group),
    artifact: need('artifact of its parent', artifact),
    version: need('version of its parent', version),
  }
}

/**
 * Reads a pom by itself: parent, properties and managed versions as far as they stand in it. Profiles are not read,
 * since they hold for those who build it.
 * @throws Malformed
 * Source: https://maven.apache.org/pom.html
 */
export function readPom(bytes: Buffer): Pom {
  if (bytes.length > MAX_POM_BYTES) malformed(`it is larger than ${printBytes(MAX_POM_BYTES)}`)
  const raw = readRaw(decodeXml(bytes))
  const { project } = raw
  const fill = createFill(withOwn(raw))
  const parent = parentOf(project, fill)
  const self = {
    group: need('groupId', fill(project.get('groupId')) ?? parent?.group),
    artifact: need('artifactId', fill(project.get('artifactId'))),
    version: need('version', fill(project.get('version')) ?? parent?.version),
  }
  const read = (list: readonly Fields[], managed?: ReadonlyMap<string, MavenDependency>): MavenDependency[] =>
    list.flatMap(fields => readDependency(fields, fill, managed) ?? [])
  const managed = read(raw.managed)
  const byKey = new Map(
    managed.map(one => [`${one.group}:${one.artifact}:${one.type ?? 'jar'}:${one.classifier ?? ''}`, one]),
  )
  const [person] = raw.people
  const texts = {
    name: fill(project.get('name')),
    description: project.get('description'),
    url: fill(project.get('url')),
  }
  const maintainer = [person?.get('name'), person?.get('email')?.replace(/^(.+)$/, '<$1>')]
    .filter(text => text !== undefined && text !== '')
    .join(' ')
  return {
    self,
    ...(parent === undefined ? {} : { parent }),
    packaging: dropEmpty(fill(project.get('packaging'))) ?? 'jar',
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined && text !== '')),
    licences: raw.licences.flatMap(one => licenceOf(one) ?? []),
    ...(maintainer === '' ? {} : { maintainer }),
    dependencies: read(raw.dependencies, byKey),
    imports: managed.filter(({ scope, type }) => scope === 'import' && type === 'pom'),
  }
}

/**
 * What a pom says of its licence: of several, those who use it choose one.
 * Source: https://maven.apache.org/pom.html, "Licenses"
 */
export const licenceIn = ({ licences }: Pick<Pom, 'licences'>): string | undefined =>
  licences.length === 0 ? undefined : licences.join(' OR ')
