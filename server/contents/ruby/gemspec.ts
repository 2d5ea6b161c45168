import { gunzipSync } from 'node:zlib'
import { malformed } from '../../lib/limited.ts'
import type { Found, Reader } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'
import { gemFound } from './gem-found.ts'

// rubygems writes literals: `s.name = "rack".freeze`, `%q{rack}` until 1.9
const FIELD =
  /^\s*\w+\.(name|version|platform)\s?=\s?(?:Gem::(?:Version|Platform)\.new\(?\s?)?(?:%q\{([^}]*)\}|"([^"]*)"|'([^']*)')/
const STUB = /^# stub: (\S+) (\S+) (\S+) /

/** Reads a specification without running it: a field that is no literal is taken from the comment for lookups. */
function gemspecOf(text: string): Found[] {
  const fields = new Map<string, string>()
  let stub: readonly string[] = []
  for (const line of linesOf(text)) {
    stub = STUB.exec(line)?.slice(1) ?? stub
    const [, field, old, double, single] = FIELD.exec(line) ?? []
    const value = old ?? double ?? single
    if (field !== undefined && value !== undefined && !fields.has(field)) fields.set(field, value)
  }
  const [name = '', version = '', platform = ''] = ['name', 'version', 'platform'].map(
    (field, n) => fields.get(field) ?? stub[n] ?? '',
  )
  return gemFound(name, version, platform, { presence: 'shipped', rule: 'gemspec' })
}

/** What rubygems installed, what ships with Ruby, and what bundler took from a repository. */
export const gemspec = textReader({
  id: 'gemspec',
  path: /(?:^|\/)(?:specifications\/(?:default\/)?|bundler\/gems\/[^/]+\/)[^/]+\.gemspec$/,
  most: 2 ** 20,
  read: gemspecOf,
})

const METADATA = {
  name: /^name: ["']?([\w.-]{1,200})["']?\r?$/m,
  version: /^version: !ruby\/object:Gem::Version\r?\n {2}version: ["']?([\w.]{1,200})["']?\r?$/m,
  platform: /^platform: ["']?([\w.-]{1,200})["']?\r?$/m,
}

const MOST_METADATA = 4 * 2 ** 20

function unzipped(bytes: Buffer): string {
  try {
    return gunzipSync(bytes, { maxOutputLength: MOST_METADATA }).toString('utf8')
  } catch (cause) {
    return malformed('it is damaged, or unpacks to more than 4 MiB', cause)
  }
}

/** `metadata.gz` of a `.gem` that was not unpacked: YAML that rubygems writes. */
export const gemMetadata: Reader = {
  id: 'gem-metadata',
  wants: ({ path }) => path.endsWith('.gem!/metadata.gz'),
  async read(file) {
    const text = unzipped(await file.whole(MOST_METADATA))
    const field = (name: keyof typeof METADATA): string => METADATA[name].exec(text)?.[1] ?? ''
    const about = { presence: 'shipped', rule: 'gem-metadata' } as const
    return { found: gemFound(field('name'), field('version'), field('platform'), about) }
  },
}
