import { normalize } from 'node:path/posix'
import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { parseJson, parseJsonObject } from '../../lib/json-file.ts'
import type { Found } from '../reader.ts'
import { folderOf, linesOf, textOf, textReader } from '../text-file.ts'
import { FOR_DEVELOPMENT } from '../unasked.ts'
import { composerFound } from './composer-found.ts'

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** Where a package was installed: Composer 2 says it, Composer 1 puts libraries below `vendor/`. */
function placeOf(entry: Fields, folder: string): { readonly needs?: readonly string[] } {
  const place = textOf(entry['install-path'])
  if (place !== '') return { needs: [normalize(folder + place).replace(/\/$/, '')] }
  const isLibrary = ['', 'library'].includes(textOf(entry.type))
  return isLibrary ? { needs: [normalize(`${folder}../${textOf(entry.name)}`)] } : {}
}

/** `installed.json`: a list until Composer 1, an object since. A metapackage has no code. */
export const installedJson = textReader({
  id: 'composer-installed',
  path: /(?:^|\/)composer\/installed\.json$/,
  *read(text, path) {
    const content = parseJson(text)
    for (const entry of listOf(isFields(content) ? content.packages : content)) {
      if (entry.type === 'metapackage') continue
      const about = { presence: 'shipped', rule: 'composer-installed', ...placeOf(entry, folderOf(path)) } as const
      yield* composerFound(textOf(entry.name), textOf(entry.version), about)
    }
  },
})

/** `installed.php` of Composer 2: lines of an array, which are not run. What is replaced has no version. */
export const installedPhp = textReader({
  id: 'composer-installed-php',
  path: /(?:^|\/)composer\/installed\.php$/,
  *read(text, path) {
    const folder = folderOf(path)
    let entry: { readonly name: string; readonly version: string } | undefined
    let isVersions = false
    for (const line of linesOf(text)) {
      isVersions ||= /^ {4}'versions' => array\($/.test(line)
      const name = /^ {8}'([^']+\/[^']+)' => array\($/.exec(line)?.[1]
      if (name !== undefined) entry = isVersions ? { name, version: '' } : undefined
      const version = /^ {12}'pretty_version' => '([^']+)',$/.exec(line)?.[1]
      if (entry !== undefined && version !== undefined) entry = { ...entry, version }
      const [, place] = /^ {12}'install_path' => __DIR__ \. '\/([^']+)',$/.exec(line) ?? []
      if (entry === undefined || place === undefined) continue
      const needs = [normalize(folder + place).replace(/\/$/, '')]
      yield* composerFound(entry.name, entry.version, { presence: 'shipped', rule: 'composer-installed', needs })
    }
  },
})

function* locked(packages: unknown, unasked?: string): Generator<Found> {
  for (const { name, version } of listOf(packages)) {
    const about = {
      presence: 'declared',
      rule: 'composer-lock',
      ...(unasked === undefined ? {} : { unasked }),
    } as const
    yield* composerFound(textOf(name), textOf(version), about)
  }
}

/** `composer.lock`, but not the one of an installed package. */
export const composerLock = textReader({
  id: 'composer-lock',
  path: path => /(?:^|\/)composer\.lock$/.test(path) && !/(?:^|\/)vendor\/[^/]+\/[^/]+\//.test(path),
  *read(text) {
    const lock = fieldsOf(parseJsonObject(text))
    yield* locked(lock.packages)
    yield* locked(lock['packages-dev'], FOR_DEVELOPMENT)
  },
})
