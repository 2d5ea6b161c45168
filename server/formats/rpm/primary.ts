import { SaxesParser } from 'saxes'
import type { RelationOp } from '../../core/relation.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { boundElements } from './bounded-xml.ts'
import type { RpmDependency } from './facts.ts'

const OPS: Readonly<Record<string, RelationOp>> = { EQ: '=', LT: '<', GT: '>', LE: '<=', GE: '>=' }
const LISTS = [
  'rpm:provides',
  'rpm:requires',
  'rpm:conflicts',
  'rpm:obsoletes',
  'rpm:recommends',
  'rpm:supplements',
] as const
type List = (typeof LISTS)[number]

/** A `<package>` of primary.xml: the text and the attributes of its elements by name, and its dependencies. */
export interface PrimaryPackage {
  readonly texts: ReadonlyMap<string, string>
  readonly attributes: ReadonlyMap<string, Readonly<Record<string, string>>>
  readonly lists: Readonly<Record<List, readonly RpmDependency[]>>
  readonly files: readonly string[]
}

function dependencyOf({ name = '', flags, epoch, ver = '', rel, pre }: Record<string, string>): RpmDependency {
  const op = flags === undefined ? undefined : OPS[flags]
  if (name === '') malformed('one of its dependencies has no name')
  if (flags !== undefined && op === undefined) malformed(`a dependency on ${quote(name)} compares by ${quote(flags)}`)
  const evr = {
    ...(epoch === undefined ? {} : { epoch }),
    version: ver,
    ...(rel === undefined ? {} : { release: rel }),
  }
  return { name, ...(op === undefined ? {} : { op, evr }), ...(pre === '1' ? { pre: true } : {}) }
}

/** The parts collected from the current element. */
interface Gathered {
  readonly texts: Map<string, string>
  readonly attributes: Map<string, Readonly<Record<string, string>>>
  readonly lists: Record<List, RpmDependency[]>
  readonly files: string[]
}

const emptyLists = (): Record<List, RpmDependency[]> => ({
  'rpm:provides': [],
  'rpm:requires': [],
  'rpm:conflicts': [],
  'rpm:obsoletes': [],
  'rpm:recommends': [],
  'rpm:supplements': [],
})

const nothing = (): Gathered => ({
  texts: new Map(),
  attributes: new Map(),
  lists: emptyLists(),
  files: [],
})

/** A parser inside the outermost element. @throws Malformed, after which it is of no use */
function openParser(head: string): (element: string) => PrimaryPackage {
  const parser = new SaxesParser()
  const path: string[] = []
  let found = nothing()
  boundElements(parser, () => path.length)
  parser.on('error', error => malformed(`it is no XML (${error.message.slice(0, 200)})`, error))
  // a document without its own entities cannot expand while it is read
  parser.on('doctype', () => malformed('it has a document type declaration'))
  parser.on('opentag', ({ name, attributes }) => {
    const list = LISTS.find(one => one === path.at(-1))
    path.push(name)
    if (name === 'file') found.files.push('')
    if (list !== undefined && name === 'rpm:entry') found.lists[list].push(dependencyOf(attributes))
    else if (!found.attributes.has(name)) found.attributes.set(name, attributes)
  })
  const add = (text: string): void => {
    const name = path.at(-1) ?? ''
    if (name === 'file') found.files.push((found.files.pop() ?? '') + text)
    else found.texts.set(name, (found.texts.get(name) ?? '') + text)
  }
  parser.on('text', add)
  parser.on('cdata', add)
  parser.on('closetag', () => {
    path.pop()
  })
  const write = (xml: string): Gathered => {
    found = nothing()
    parser.write(xml)
    if (path.length !== 1) malformed('its elements do not stand side by side in one outermost element')
    return found
  }
  write(head)
  return write
}

/**
 * Reads elements of primary.xml one at a time. All share one parser: a new one for each takes twice as long.
 * @param head what stands before the first of them, which opens the outermost element
 */
export function createPrimaryParser(head: string): { read(element: string): PrimaryPackage } {
  let parse: ReturnType<typeof openParser> | undefined
  return {
    read(element) {
      const use = parse ?? openParser(head)
      parse = undefined // an element that is refused leaves it half way
      const read = use(element)
      parse = use
      return read
    },
  }
}
