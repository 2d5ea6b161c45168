import { malformed } from '../../lib/limited.ts'
import type { Coordinates, Release } from './coordinates.ts'

const FIELD = /^[ \t]*(groupId|artifactId|version)[ \t]*[=:][ \t]*(\S+)[ \t]*$/gm

/** A value that may stand in coordinates; `${project.version}` was never filled in. */
const isValue = (text: string | undefined): text is string =>
  text !== undefined && text.length <= 200 && /^[\w.+~-]+$/.test(text)

function release(group: string | undefined, artifact: string | undefined, version: string | undefined) {
  return isValue(group) && isValue(artifact) && isValue(version) ? { group, artifact, version } : undefined
}

/**
 * What Maven writes into each archive that it builds. Undefined where a field is missing that `place`, the folders it
 * lies in, does not say. Source: maven.apache.org, Maven Archiver, "pom.properties content"
 */
export function readPomProperties(text: string, place: Partial<Coordinates> = {}): Release | undefined {
  const fields = new Map([...text.replaceAll('\r', '').matchAll(FIELD)].map(([, key = '', value = '']) => [key, value]))
  return release(
    fields.get('groupId') ?? place.group,
    fields.get('artifactId') ?? place.artifact,
    fields.get('version'),
  )
}

/** A dependency as a pom.xml wants it. */
export interface Wanted {
  readonly group: string
  readonly artifact: string
  readonly version: string | undefined
  readonly scope: string
}

export interface Pom {
  /** What it describes; undefined where that is not in this file alone. */
  readonly self: Release | undefined
  readonly dependencies: readonly Wanted[]
}

// deeper than any element that is read
const DEEPEST = 64
const MOST_DEPENDENCIES = 10_000
const LONGEST_PROPERTY = 300
/** Declarations and tags; all else is text. */
const TOKEN = /<[?!][^<>]*>|<(\/?)([\w:.-]+)(?![\w:.-])[^<>]*?(\/?)>/g

/** Everything between two marks replaced; what is never closed ends the text. */
function replaced(text: string, [from, to]: readonly [string, string], by: (inner: string) => string): string {
  const parts: string[] = []
  let at = 0
  for (let begin = text.indexOf(from); begin !== -1; begin = text.indexOf(from, at)) {
    const end = text.indexOf(to, begin + from.length)
    parts.push(text.slice(at, begin))
    if (end === -1) return parts.join('')
    parts.push(by(text.slice(begin + from.length, end)))
    at = end + to.length
  }
  return [...parts, text.slice(at)].join('')
}

/** The texts of the leaves by their paths, in order: `project/dependencies/dependency/groupId`. */
function* leaves(xml: string): Generator<readonly [path: string, text: string]> {
  const open: string[] = []
  let text = ''
  let at = 0
  const plain = replaced(
    replaced(xml, ['<!--', '-->'], () => ''),
    ['<![CDATA[', ']]>'],
    inner => inner.replace(/[<>]/g, ''),
  )
  for (const token of plain.matchAll(TOKEN)) {
    const [whole, end, tag, empty] = token
    text += plain.slice(at, token.index)
    at = token.index + whole.length
    if (tag === undefined) continue
    const name = tag.replace(/^.*:/, '')
    if (end === '/') {
      if (open.at(-1) !== name) malformed('it is no XML: its tags do not match')
      yield [open.join('/'), text.trim()]
      open.pop()
    } else if (empty !== '/') {
      open.push(name)
      if (open.length > DEEPEST) malformed('its elements are nested too deep')
    }
    text = ''
  }
  if (open.length > 0) malformed('it is no XML to its end: it is cut off')
}

type Fields = Map<string, string>

/** Fills in `${name}`, up to five deep. */
function filled(text: string | undefined, properties: ReadonlyMap<string, string>): string | undefined {
  let value = text
  for (let n = 0; n < 5 && value?.includes('${') === true && value.length < 1_000; n++)
    value = value.replace(/\$\{([\w.-]+)\}/g, (whole, name: string) => properties.get(name) ?? whole)
  return value?.includes('${') === true ? undefined : value
}

/**
 * What a pom.xml describes and wants. Group and version may be the parent's. What other files would have to say is left
 * open.
 * @throws Malformed
 * Source: https://maven.apache.org/pom.html
 */
export function readPomXml(xml: string): Pom {
  const own: Fields = new Map()
  const properties: Fields = new Map()
  const wanted: Fields[] = []
  let dependency: Fields = new Map()
  for (const [path, text] of leaves(xml)) {
    const [, first = '', second = '', third = ''] = path.split('/')
    const depth = path.split('/').length
    if (depth === 2) own.set(first, text)
    else if (depth === 3 && first === 'parent') own.set(`parent.${second}`, text)
    else if (depth === 3 && first === 'properties') properties.set(second, text.slice(0, LONGEST_PROPERTY))
    else if (first === 'dependencies' && depth === 4) dependency.set(third, text)
    else if (first === 'dependencies' && depth === 3) {
      if (wanted.push(dependency) > MOST_DEPENDENCIES) malformed(`it wants more than ${MOST_DEPENDENCIES} artifacts`)
      dependency = new Map()
    }
  }
  for (const key of ['groupId', 'version']) {
    const value = own.get(key) ?? own.get(`parent.${key}`)
    for (const name of value === undefined ? [] : [`project.${key}`, `pom.${key}`, key])
      properties.set(name, value ?? '')
    const parents = own.get(`parent.${key}`)
    if (parents !== undefined) properties.set(`project.parent.${key}`, parents)
  }
  const fill = (text: string | undefined): string | undefined => filled(text, properties)
  return {
    self: release(
      fill(properties.get('project.groupId')),
      fill(own.get('artifactId')),
      fill(properties.get('project.version')),
    ),
    dependencies: wanted.flatMap(fields => {
      const [group, artifact] = [fill(fields.get('groupId')), fill(fields.get('artifactId'))]
      const version = fill(fields.get('version'))
      if (!isValue(group) || !isValue(artifact)) return []
      return [
        { group, artifact, version: isValue(version) ? version : undefined, scope: fields.get('scope') ?? 'compile' },
      ]
    }),
  }
}
