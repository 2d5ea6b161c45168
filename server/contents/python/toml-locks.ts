import type { Found, Reader } from '../reader.ts'
import { textReader } from '../text-file.ts'
import { tomlTables, type TomlTable } from '../toml-tables.ts'
import { FOR_DEVELOPMENT } from '../unasked.ts'
import { pypiFound } from './names.ts'

/** The project itself, or a folder beside it: no release of that name. */
const isOwn = (table: TomlTable): boolean =>
  /^\{ ?(?:virtual|editable|directory) =/.test(table.get('source') ?? '') ||
  table.get('source.type') === 'directory' ||
  table.get('editable') === 'true' ||
  table.has('directory.path') ||
  /^\{ ?path =/.test(table.get('directory') ?? '')

const isFork = (table: TomlTable): boolean =>
  /^\{ ?git =/.test(table.get('source') ?? '') || table.get('source.type') === 'git' || table.has('git')

/** poetry 1 has a category, poetry 2 and pdm have groups. */
const isForDevelopment = (table: TomlTable): boolean =>
  table.get('category') === 'dev' || /^\[ ?"dev" ?\]$/.test(table.get('groups') ?? '')

function foundOf(table: TomlTable, rule: string): Found[] {
  if (isOwn(table)) return []
  return pypiFound(table.get('name') ?? '', table.get('version') ?? '', {
    presence: 'declared',
    rule,
    ...(isFork(table) ? { confidence: 'probable' } : {}),
    ...(isForDevelopment(table) ? { unasked: FOR_DEVELOPMENT } : {}),
  })
}

const lock = (id: string, path: RegExp, name: string): Reader =>
  textReader({
    id,
    path,
    *read(text) {
      for (const table of tomlTables(text, name)) yield* foundOf(table, id)
    },
  })

/** The locks of poetry, uv and pdm, and the common one. Source for that: packaging.python.org, pylock.toml */
export const tomlLocks: readonly Reader[] = [
  lock('poetry-lock', /(?:^|\/)poetry\.lock$/, 'package'),
  lock('uv-lock', /(?:^|\/)uv\.lock$/, 'package'),
  lock('pdm-lock', /(?:^|\/)pdm\.lock$/, 'package'),
  lock('pylock', /(?:^|\/)pylock(?:\.[\w-]+)?\.toml$/, 'packages'),
]
