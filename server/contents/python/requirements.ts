import { fieldsOf, isFields } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import { folderOf, linesOf, textOf, textReader } from '../text-file.ts'
import { FOR_DEVELOPMENT } from '../unasked.ts'
import { codePlaces, pypiFound } from './names.ts'

// the name rule of PEP 508; extras in brackets follow it
const PIN =
  /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?) ?(?:\[[^\]]*\])? ?={2,3} ?([0-9][^\s;#,*]*) ?(?:[;#].*|--hash.*|\\)?$/

/** Only what is pinned with `==`: a range says what is wanted, not what is there. */
function* pins(text: string): Generator<readonly [name: string, version: string]> {
  for (const line of linesOf(text)) {
    const [, name, version] = PIN.exec(line.replace(/\s+/g, ' ').trim()) ?? []
    if (name !== undefined && version !== undefined) yield [name, version]
  }
}

/** Source: pip.pypa.io, requirements file format */
export const requirements = textReader({
  id: 'python-requirements',
  path: /(?:^|\/)(?:(?:[\w.-]*requirements[^/]*|constraints)\.txt|requirements\/[^/]+\.txt)$/,
  *read(text) {
    for (const [name, version] of pins(text))
      yield* pypiFound(name, version, { presence: 'declared', rule: 'python-requirements' })
  },
})

/** What pip, setuptools and others carry with them, in a folder beside this list. */
export const vendored = textReader({
  id: 'python-vendor',
  path: /(?:^|\/)(?:_?vendor|_vendored|patched)\/(?:vendor|vendored|patched)\.txt$/,
  *read(text, path) {
    for (const [name, version] of pins(text)) {
      const needs = codePlaces(folderOf(path), name)
      yield* pypiFound(name, version, { presence: 'shipped', rule: 'python-vendor', needs })
    }
  },
})

/** `Pipfile.lock`. Source: pipenv.pypa.io, Pipfile and Pipfile.lock */
export const pipfileLock = textReader({
  id: 'pipfile-lock',
  path: /(?:^|\/)Pipfile\.lock$/,
  *read(text) {
    const lock = parseJsonObject(text)
    for (const group of ['default', 'develop']) {
      for (const [name, entry] of Object.entries(fieldsOf(lock[group]))) {
        const [, version] = /^={2,3}(\S+)$/.exec(isFields(entry) ? textOf(entry.version) : '') ?? []
        const unasked = group === 'develop' ? { unasked: FOR_DEVELOPMENT } : {}
        if (version !== undefined)
          yield* pypiFound(name, version, { presence: 'declared', rule: 'pipfile-lock', ...unasked })
      }
    }
  },
})
