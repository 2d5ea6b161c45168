import type { Found, Reader } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'
import { FOR_DEVELOPMENT, OWN_PROJECT } from '../unasked.ts'

type Fields = ReadonlyMap<string, string>

/** The entries of `packages:`; pub writes this YAML alone: two blanks a level. */
function* entriesOf(text: string): Generator<Fields> {
  let isPackages = false
  let fields: Map<string, string> | undefined
  for (const line of linesOf(text)) {
    if (/^\S/.test(line)) isPackages = line === 'packages:'
    const name = /^ {2}"?(\w+)"?:$/.exec(line)?.[1]
    if (isPackages && name !== undefined) {
      if (fields !== undefined) yield fields
      fields = new Map([['name', name]])
    }
    const [, key, value] = /^ {4}(?: {2})?(dependency|source|version|name): "?([^"]*)"?$/.exec(line) ?? []
    if (isPackages && key !== undefined && value !== undefined) fields?.set(key, value)
  }
  if (fields !== undefined) yield fields
}

function foundOf(fields: Fields): Found[] {
  const [name = '', version = ''] = [fields.get('name'), fields.get('version')]
  const source = fields.get('source')
  // parts of the Dart or Flutter kit have the version 0.0.0
  if (!/^\w+$/.test(name) || !/^\d\S*$/.test(version) || source === 'sdk') return []
  const unasked =
    source === 'path' ? OWN_PROJECT : fields.get('dependency') === 'direct dev' ? FOR_DEVELOPMENT : undefined
  return [
    {
      type: 'pub',
      name,
      version,
      presence: 'declared',
      rule: 'pubspec-lock',
      confidence: source === 'git' ? 'probable' : 'certain',
      ...(unasked === undefined ? {} : { unasked }),
    },
  ]
}

/** Source: dart.dev, tools, pub, glossary, "Lockfile" */
const pubspecLock = textReader({
  id: 'pubspec-lock',
  path: /(?:^|\/)pubspec\.lock$/,
  *read(text) {
    for (const entry of entriesOf(text)) yield* foundOf(entry)
  },
})

/** A package in pub's cache: its folder says what it is. Source: dart.dev, tools, pub, cmd, pub cache */
const cached = textReader({
  id: 'pub-cache',
  path: /(?:^|\/)hosted\/[^/]+\/\w+-\d[^/]*\/pubspec\.yaml$/,
  most: 2 ** 20,
  *read(text, path) {
    const [, name = '', version = ''] = /\/(\w+)-(\d[^/]*)\/pubspec\.yaml$/.exec(path) ?? []
    const [, own] = /^name:[ \t]{0,20}["']?(\w{1,100})/m.exec(text) ?? []
    if (own === name)
      yield { type: 'pub', name, version, presence: 'shipped', rule: 'pub-cache', confidence: 'certain' }
  },
})

/** What pub fetched, and what programs of Dart and Flutter want; compiled ones do not say what is in them. */
export const dartReaders: readonly Reader[] = [cached, pubspecLock]
