import { fieldsOf } from '../../lib/fields.ts'
import { parseLooseJson } from '../../lib/json-file.ts'
import type { Found, Reader } from '../reader.ts'
import { textOf, textReader } from '../text-file.ts'
import { isInsideDependency, npmFound } from './npm-found.ts'

/** The first value of each entry is the true name and version: `minimist@1.2.0`, also for an alias. */
function foundOf(entry: unknown): Found[] {
  const text = Array.isArray(entry) ? textOf(entry[0]) : ''
  const at = text.indexOf('@', 1)
  const version = text.slice(at + 1)
  if (at === -1 || /^(?:workspace|link|file|root):/.test(version)) return []
  return npmFound(text.slice(0, at), version, { presence: 'declared', rule: 'bun-lock' })
}

/** `bun.lock`: JSON with commas before closing brackets. Source: bun.com, docs, lockfile */
export const bunLock = textReader({
  id: 'bun-lock',
  path: path => /(?:^|\/)bun\.lock$/.test(path) && !isInsideDependency(path),
  *read(text) {
    for (const entry of Object.values(fieldsOf(parseLooseJson(text).packages))) yield* foundOf(entry)
  },
})

/** `bun.lockb`, the binary lock that bun wrote until version 1.2. */
export const bunBinaryLock: Reader = {
  id: 'bun-lockb',
  wants: ({ path }) => /(?:^|\/)bun\.lockb$/.test(path) && !isInsideDependency(path),
  read: async ({ path, size }) => ({
    found: [],
    unopened: [{ path, size, why: 'It is a binary lock file of bun, which is not read.' }],
  }),
}
