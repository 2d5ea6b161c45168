import type { Found } from '../reader.ts'
import { folderOf, textReader } from '../text-file.ts'
import { tomlTables, type TomlTable } from '../toml-tables.ts'
import { ELSEWHERE, OWN_PROJECT } from '../unasked.ts'

type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'needs' | 'unasked'>>

const CRATES_IO =
  /^(?:registry\+https:\/\/github\.com\/rust-lang\/crates\.io-index|sparse\+https:\/\/index\.crates\.io\/?)$/

function crateFound(table: TomlTable, about: About): Found[] {
  const [name = '', version = ''] = [table.get('name'), table.get('version')]
  if (!/^[A-Za-z][\w-]*$/.test(name) || !/^\d\S*$/.test(version)) return []
  return [{ type: 'cargo', name, version, confidence: 'certain', ...about }]
}

function unaskedOf(source: string | undefined): { readonly unasked?: string } {
  if (source === undefined) return { unasked: OWN_PROJECT }
  return CRATES_IO.test(source) ? {} : { unasked: ELSEWHERE }
}

/** `Cargo.lock` of the versions 1 to 4. Source: doc.rust-lang.org, Cargo.toml vs Cargo.lock */
export const cargoLock = textReader({
  id: 'cargo-lock',
  // the cache and a vendor folder hold the locks of those who were wanted
  path: path => /(?:^|\/)Cargo\.lock$/.test(path) && !/(?:^|\/)(?:vendor|registry\/src)\//.test(path),
  *read(text) {
    for (const table of tomlTables(text, 'package'))
      yield* crateFound(table, { presence: 'declared', rule: 'cargo-lock', ...unaskedOf(table.get('source')) })
  },
})

const VENDORED = /(?:^|\/)vendor\/[^/]+\/Cargo\.toml$/

/** The source text of a crate: a `.crate`, in Cargo's cache, or where `cargo vendor` put it with its checksums. */
export const crateSource = textReader({
  id: 'crate-source',
  path: path =>
    /(?:\.crate!\/|(?:^|\/)(?:registry\/src\/[^/]+|usr\/share\/cargo\/registry)\/)[^/]+-\d[^/]*\/Cargo\.toml$/.test(
      path,
    ) || VENDORED.test(path),
  most: 2 ** 20,
  *read(text, path) {
    const needs = VENDORED.test(path) ? { needs: [`${folderOf(path)}.cargo-checksum.json`] } : {}
    for (const table of tomlTables(text, 'package'))
      yield* crateFound(table, { presence: 'shipped', rule: 'crate-source', ...needs })
  },
})

/** What projects of Rust want, and crates as source text. */
export const cargoReaders = [cargoLock, crateSource] as const
