import { fieldsOf } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found, Reader } from '../reader.ts'
import { linesOf, textOf, textReader } from '../text-file.ts'

/** One row, or none where the name is no name. Source: cran.r-project.org, Writing R Extensions, 1.1.1 */
function rFound(
  name: string,
  version: string,
  source: string,
  about: Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'unasked' | 'confidence'>>,
): Found[] {
  if (!/^[A-Za-z][A-Za-z0-9.]*$/.test(name) || !/^\d[\d.-]*$/.test(version)) return []
  const type = /bioc/i.test(source) ? 'bioconductor' : 'cran'
  return [{ type, name, version, confidence: 'certain', ...about }]
}

/** An installed package: a source tree has no `Built`. */
const description = textReader({
  id: 'r-description',
  path: /(?:^|\/)DESCRIPTION$/,
  most: 2 ** 20,
  read(text) {
    const fields = new Map<string, string>()
    for (const line of linesOf(text)) {
      const [, key, value = ''] = /^([A-Za-z][\w./@-]*):(.*)$/.exec(line) ?? []
      if (key !== undefined && !fields.has(key)) fields.set(key, value.trim())
    }
    if (!fields.has('Built')) return []
    const isBase = fields.get('Priority') === 'base'
    return rFound(
      fields.get('Package') ?? '',
      fields.get('Version') ?? '',
      `${fields.get('Repository') ?? ''} ${fields.get('git_url') ?? ''}`,
      {
        presence: 'shipped',
        rule: 'r-description',
        ...(isBase ? { unasked: 'It is a part of R itself.' } : {}),
      },
    )
  },
})

/** Source: rstudio.github.io/renv, lockfile */
const renvLock = textReader({
  id: 'renv-lock',
  path: /(?:^|\/)renv\.lock$/,
  *read(text) {
    for (const entry of Object.values(fieldsOf(parseJsonObject(text).Packages))) {
      const { Package: name, Version: version, Source: source } = fieldsOf(entry)
      const isRelease = source === 'Repository' || /bioc/i.test(textOf(source))
      yield* rFound(textOf(name), textOf(version), textOf(source), {
        presence: 'declared',
        rule: 'renv-lock',
        ...(isRelease ? {} : { confidence: 'probable' }),
      })
    }
  },
})

/** Installed packages of R, and what a project of it wants. */
export const rReaders: readonly Reader[] = [description, renvLock]
