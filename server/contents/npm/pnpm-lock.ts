import type { Found } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'
import { FOR_DEVELOPMENT } from '../unasked.ts'
import { isInsideDependency, npmFound, splitName } from './npm-found.ts'

interface Entry {
  readonly key: string
  /** The scalars below it. */
  readonly fields: Map<string, string>
}

const unquoted = (text: string): string => /^'([^']*)'$|^"([^"]*)"$/.exec(text)?.slice(1).join('') ?? text

/** The entries of `packages:`. pnpm writes this YAML alone, so its lines are read: two blanks a level. */
function* entriesOf(text: string): Generator<Entry> {
  let isPackages = false
  let entry: Entry | undefined
  for (const line of linesOf(text)) {
    if (/^\S/.test(line)) isPackages = line === 'packages:'
    if (!isPackages) continue
    // a key of more than 1,024 characters stands behind a question mark
    const [, key] = /^ {2}(?:\? )?([^\s#].*)$/.exec(line) ?? []
    if (key !== undefined && key !== ':') {
      if (entry !== undefined) yield entry
      entry = { key: unquoted(key.replace(/:(?: \{\})?$/, '')), fields: new Map() }
    }
    const [, name, value] = /^ {4}(name|version|dev): (.+)$/.exec(line) ?? []
    if (name !== undefined && value !== undefined) entry?.fields.set(name, unquoted(value))
  }
  if (entry !== undefined) yield entry
}

/** Peers stand behind a bracket since version 6, behind `_` before. */
const withoutPeers = (version: string): string => version.replace(/[_(].*$/, '')

/** `/lodash/4.17.15`, `host/lodash/4.17.15`, `/lodash@4.17.15` and `lodash@4.17.15`. */
function partsOf(key: string): { readonly name: string; readonly version: string } {
  const path = key.startsWith('/') ? key.slice(1) : key
  const at = path.indexOf('@', 1)
  if (at > 0 && splitName(path.slice(0, at)) !== undefined)
    return { name: path.slice(0, at), version: withoutPeers(path.slice(at + 1)) }
  const segments = path.split('/')
  const version = withoutPeers(segments.pop() ?? '')
  const name = segments.pop() ?? ''
  const scope = segments.pop() ?? ''
  return { name: scope.startsWith('@') ? `${scope}/${name}` : name, version }
}

function foundOf({ key, fields }: Entry): Found[] {
  if (/^(?:.*@)?(?:file|link|workspace):/.test(key)) return []
  const parts = partsOf(key)
  const isRelease = /^\d/.test(parts.version)
  const name = fields.get('name') ?? parts.name
  return npmFound(name, isRelease ? parts.version : (fields.get('version') ?? parts.version), {
    presence: 'declared',
    rule: 'pnpm-lock',
    ...(isRelease ? {} : { confidence: 'probable' }),
    ...(fields.get('dev') === 'true' ? { unasked: FOR_DEVELOPMENT } : {}),
  })
}

/** `pnpm-lock.yaml` of the versions 5 to 9. Source: github.com/pnpm/spec, lockfile */
export const pnpmLock = textReader({
  id: 'pnpm-lock',
  path: path => /(?:^|\/)(?:pnpm-lock|shrinkwrap)\.yaml$/.test(path) && !isInsideDependency(path),
  *read(text) {
    for (const entry of entriesOf(text)) yield* foundOf(entry)
  },
})
