import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found } from '../reader.ts'
import { fileNameOf, folderOf, textOf, textReader } from '../text-file.ts'
import { nugetFound } from './nuget-found.ts'

const COMPILE_ONLY = 'It was needed for compiling only.'
const PACK = 'runtimepack.'
const MOST_PLACES = 20

/** The files that a package brings into the program. `_._` stands for none. */
const filesOf = (target: Fields): string[] =>
  ['runtime', 'native', 'runtimeTargets']
    .flatMap(kind => Object.keys(fieldsOf(target[kind])))
    .filter(path => fileNameOf(path) !== '_._')

/** Publishing puts `lib/net6.0/A.dll` beside the list, and keeps `runtimes/…` below it. */
const placesOf = (files: readonly string[], folder: string): string[] => [
  ...new Set(files.slice(0, MOST_PLACES).flatMap(path => [folder + fileNameOf(path), folder + path])),
]

function foundOf(key: string, type: string, target: unknown, folder: string): Found[] {
  const slash = key.lastIndexOf('/')
  const [name, version] = [key.slice(0, slash), key.slice(slash + 1)]
  const files = filesOf(fieldsOf(target))
  const needs = placesOf(files, folder)
  if (type === 'runtimepack')
    return nugetFound(name.startsWith(PACK) ? name.slice(PACK.length) : name, version, {
      presence: 'shipped',
      rule: 'dotnet-runtimepack',
      ...(needs.length === 0 ? {} : { needs }),
    })
  if (type !== 'package') return []
  return files.length === 0
    ? nugetFound(name, version, {
        presence: 'declared',
        rule: 'dotnet-deps',
        ...(isFields(target) ? { unasked: COMPILE_ONLY } : {}),
      })
    : nugetFound(name, version, { presence: 'shipped', rule: 'dotnet-deps', needs })
}

/**
 * `*.deps.json` of a published program: `libraries` says what each is, `targets` what it brings.
 * Source: github.com/dotnet/sdk, documentation/specs/runtime-configuration-file.md
 */
export const depsJson = textReader({
  id: 'dotnet-deps',
  path: /\.deps\.json$/,
  *read(text, path) {
    const { libraries, targets, runtimeTarget } = parseJsonObject(text)
    const named = textOf(fieldsOf(runtimeTarget).name) || textOf(runtimeTarget)
    const target = fieldsOf(fieldsOf(targets)[named] ?? Object.values(fieldsOf(targets))[0])
    for (const [key, library] of Object.entries(fieldsOf(libraries)))
      if (isFields(library)) yield* foundOf(key, textOf(library.type), target[key], folderOf(path))
  },
})
