import type { Found, Reader } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'

const hackage = (name: string, version: string, rule: string): Found => ({
  type: 'hackage',
  name,
  version,
  presence: 'declared',
  rule,
  confidence: 'certain',
})

/** Source: cabal.readthedocs.io, cabal freeze */
const cabalFreeze = textReader({
  id: 'cabal-freeze',
  path: /(?:^|\/)cabal\.project\.freeze$/,
  *read(text) {
    for (const [, name = '', version = ''] of text.matchAll(/\bany\.([A-Za-z][\w-]{0,100}) ?==([\d.]{1,100})/g))
      yield hackage(name, version, 'cabal-freeze')
  },
})

/** Source: docs.haskellstack.org, lock files */
const stackLock = textReader({
  id: 'stack-lock',
  path: /(?:^|\/)stack\.yaml\.lock$/,
  *read(text) {
    const seen = new Set<string>()
    for (const line of linesOf(text)) {
      const [, name = '', version = ''] = /^\s+hackage: ([A-Za-z][\w-]*)-(\d[\d.]*)@/.exec(line) ?? []
      if (name === '' || seen.has(`${name}-${version}`)) continue
      seen.add(`${name}-${version}`)
      yield hackage(name, version, 'stack-lock')
    }
  },
})

/** What programs of Haskell want; compiled ones do not say what is in them. */
export const haskellReaders: readonly Reader[] = [cabalFreeze, stackLock]
