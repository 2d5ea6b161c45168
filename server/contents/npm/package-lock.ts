import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found } from '../reader.ts'
import { folderOf, textOf, textReader } from '../text-file.ts'
import { FOR_DEVELOPMENT } from '../unasked.ts'
import { isInsideDependency, npmFound, type About } from './npm-found.ts'

const MODULES = 'node_modules/'

const DECLARED: About = { presence: 'declared', rule: 'package-lock' }

/** What one entry says of itself. Advisories are about what the registry has: a fork may differ. */
function aboutOf({ dev, resolved }: Fields, about: About): About {
  return {
    ...about,
    ...(dev === true ? { unasked: FOR_DEVELOPMENT } : {}),
    ...(textOf(resolved).startsWith('git') ? { confidence: 'probable' } : {}),
  }
}

/** lockfileVersion 1: a tree of names. npm 6 writes an alias as the version `npm:minimist@1.2.0`. */
function* treeOf(dependencies: unknown): Generator<Found> {
  for (const [key, entry] of Object.entries(fieldsOf(dependencies))) {
    if (!isFields(entry)) continue
    const written = textOf(entry.version)
    const [, name = key, version = written] = /^npm:((?:@[^/@]+\/)?[^/@]+)@(.+)$/.exec(written) ?? []
    if (!/^(?:file|link):/.test(written)) yield* npmFound(name, version, aboutOf(entry, DECLARED))
    yield* treeOf(entry.dependencies)
  }
}

/** lockfileVersion 2 and 3: paths as keys. Those outside `node_modules/` are the project and its workspaces. */
function* packagesOf(packages: Fields, about: (path: string) => About): Generator<Found> {
  for (const [path, entry] of Object.entries(packages)) {
    if (!isFields(entry) || entry.link === true || !path.includes(MODULES)) continue
    const name = textOf(entry.name) || path.slice(path.lastIndexOf(MODULES) + MODULES.length)
    yield* npmFound(name, textOf(entry.version), aboutOf(entry, about(path)))
  }
}

/** `package-lock.json` and `npm-shrinkwrap.json`. Source: docs.npmjs.com, package-lock.json */
export const packageLock = textReader({
  id: 'package-lock',
  path: path => /(?:^|\/)(?:package-lock|npm-shrinkwrap)\.json$/.test(path) && !isInsideDependency(path),
  read(text) {
    const { packages, dependencies } = parseJsonObject(text)
    return isFields(packages) ? packagesOf(packages, () => DECLARED) : treeOf(dependencies)
  },
})

/** `node_modules/.package-lock.json`: what npm installed, where its folders are still there. */
export const hiddenLock = textReader({
  id: 'npm-hidden-lock',
  path: /(?:^|\/)node_modules\/\.package-lock\.json$/,
  read(text, path) {
    const root = folderOf(path).slice(0, -MODULES.length)
    return packagesOf(fieldsOf(parseJsonObject(text).packages), at => ({
      presence: 'shipped',
      rule: 'npm-hidden-lock',
      needs: [`${root}${at}`],
    }))
  },
})
