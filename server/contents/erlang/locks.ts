import { linesOf, textReader } from '../text-file.ts'
import { hexFound } from './hex-found.ts'

const inDependency = (path: string): boolean => /(?:^|\/)deps\/[^/]+\//.test(path)

/** `mix.lock`: `"key": {:hex, :name, "version", …`. Source: hexdocs.pm, mix deps */
export const mixLock = textReader({
  id: 'mix-lock',
  path: path => /(?:^|\/)mix\.lock$/.test(path) && !inDependency(path),
  *read(text) {
    for (const line of linesOf(text)) {
      const [, name = '', version = ''] = /^ *"[^"]+": ?\{:hex, :"?(\w+)"?, "([^"]+)"/.exec(line) ?? []
      yield* hexFound(name, version, { presence: 'declared', rule: 'mix-lock' })
    }
  },
})

/** A package that Hex has unpacked into `deps/`. Source: github.com/hexpm/specifications, package_metadata.md */
export const hexMetadata = textReader({
  id: 'hex-metadata',
  path: /(?:^|\/)hex_metadata\.config$/,
  most: 4 * 2 ** 20,
  *read(text) {
    const [, name = ''] = /^\{<<"name">>, ?<<"(\w{1,100})">>\}\./m.exec(text) ?? []
    const [, version = ''] = /^\{<<"version">>, ?<<"([^"\n]{1,100})">>\}\./m.exec(text) ?? []
    yield* hexFound(name, version, { presence: 'shipped', rule: 'hex-metadata' })
  },
})

/** `rebar.lock`: `{<<"key">>,{pkg,<<"name">>,<<"version">>},0}`. Source: rebar3.org, dependencies, lock files */
export const rebarLock = textReader({
  id: 'rebar-lock',
  path: path => /(?:^|\/)rebar\.lock$/.test(path) && !inDependency(path),
  *read(text) {
    for (const [, name = '', version = ''] of text.matchAll(
      /\{pkg,\s{0,20}<<"(\w{1,100})">>,\s{0,20}<<"([^"]{1,100})">>/g,
    ))
      yield* hexFound(name, version, { presence: 'declared', rule: 'rebar-lock' })
  },
})
