import type { Found } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'
import { isInsideDependency, npmFound } from './npm-found.ts'

/** One entry: its key of descriptors, and its fields. */
interface Entry {
  readonly key: string
  readonly version: string
  /** Since version 2. */
  readonly resolution: string
}

function* entriesOf(text: string): Generator<Entry> {
  let entry: Entry | undefined
  for (const line of linesOf(text)) {
    if (/^[^\s#]/.test(line)) {
      if (entry !== undefined) yield entry
      entry = { key: line.replace(/:$/, ''), version: '', resolution: '' }
    }
    const [, name, value = ''] = /^ {2}(version|resolution):? "?([^"\s]+)"?$/.exec(line) ?? []
    if (entry !== undefined && name !== undefined) entry = { ...entry, [name]: value }
  }
  if (entry !== undefined) yield entry
}

const NAME = String.raw`((?:@[^/@"\s]+\/)?[^/@"\s]+)`
const ALIAS = new RegExp(`^"?${NAME}@npm:${NAME}@`)
const DESCRIPTOR = new RegExp(`^"?${NAME}@([^,"]*)`)
// a range has neither colon nor slash; a branch of GitHub is `user/name`
const isFromRegistry = (range: string): boolean => /^(?:npm|patch):/.test(range) || !/[:/]/.test(range)

/** An alias is written as `alias@npm:minimist@1.2.0`; since version 2 the resolution has the true name. */
function foundOf({ key, version, resolution }: Entry): Found[] {
  const [, written = '', range = ''] = DESCRIPTOR.exec(resolution || key) ?? []
  const name = ALIAS.exec(resolution || key)?.[2] ?? written
  if (/^(?:link|workspace|portal|file):/.test(range)) return []
  return npmFound(name, version, {
    presence: 'declared',
    rule: 'yarn-lock',
    ...(isFromRegistry(range) ? {} : { confidence: 'probable' }),
  })
}

/** `yarn.lock` of yarn 1, and the YAML that it is since yarn 2. */
export const yarnLock = textReader({
  id: 'yarn-lock',
  path: path => /(?:^|\/)yarn\.lock$/.test(path) && !isInsideDependency(path),
  *read(text) {
    for (const entry of entriesOf(text)) if (entry.key !== '__metadata') yield* foundOf(entry)
  },
})
