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

/** A library in GHC's database of packages. Source: downloads.haskell.org, GHC user's guide, "Package databases" */
const registered = textReader({
  id: 'ghc-package',
  path: /(?:^|\/)package\.conf\.d\/[^/]+\.conf$/,
  most: 2 ** 20,
  *read(text) {
    const [, name = ''] = /^name:[ \t]{0,40}([A-Za-z][\w-]{0,100})[ \t]{0,40}\r?$/m.exec(text) ?? []
    const [, version = ''] = /^version:[ \t]{0,40}(\d[\d.]{0,100})[ \t]{0,40}\r?$/m.exec(text) ?? []
    if (name !== '' && version !== '') yield { ...hackage(name, version, 'ghc-package'), presence: 'shipped' }
  },
})

/** Libraries of Haskell, and what its programs want: compiled ones do not say what is in them. */
export const haskellReaders: readonly Reader[] = [registered, cabalFreeze, stackLock]
