import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found } from '../reader.ts'
import { textOf, textReader } from '../text-file.ts'
import { npmFound } from './npm-found.ts'

const INSTALLED_IN = /(?:^|\/)(?:node_modules|usr\/(?:share|lib)\/nodejs)\//
// only at a package's root: others are fixtures, or say how the files below them are loaded
const INSTALLED = /(?:^|\/)(?:node_modules|usr\/(?:share|lib)\/nodejs)\/(?:@[^/]+\/)?[^/@]+\/package\.json$/
// what `npm pack` writes; the tar of a package of npm itself may have any folder at its top
const PACKED = /\.(?:tgz|tar\.gz|tar)!\/package\/package\.json$|^package\.tar!\/[^/]+\/package\.json$/
const FIXTURE = /(?:^|\/)(?:__tests__|tests?|fixtures?|examples?|spec|templates?|boilerplates?)\//i

const PRIVATE = 'It is marked private: no registry has it.'
const OWN = 'It does not lie where npm installs, and does not say where it was published from.'

/** An installed package: it says its own name, its folder may be an alias. */
export const packageJson = textReader({
  id: 'npm-package-json',
  path: path => path.endsWith('/package.json') && (INSTALLED.test(path) || PACKED.test(path)),
  most: 4 * 2 ** 20,
  read(text) {
    const { name, version, private: isPrivate } = parseJsonObject(text)
    return npmFound(textOf(name), textOf(version), {
      presence: 'shipped',
      rule: 'npm-package-json',
      ...(isPrivate === true ? { unasked: PRIVATE } : {}),
    })
  },
})

/**
 * A package.json elsewhere: the program's own, or a copy of a published package. A copy has a licence and an address of
 * its source; a program with the name of somebody else's package must not be judged as that.
 */
export const copiedPackageJson = textReader({
  id: 'npm-copied-package',
  path: path =>
    /(?:^|\/)package\.json$/.test(path) && !INSTALLED_IN.test(path) && !PACKED.test(path) && !FIXTURE.test(path),
  most: 4 * 2 ** 20,
  read(text): Found[] {
    const { name, version, private: isPrivate, license, licenses, repository } = parseJsonObject(text)
    const isPublished = (license ?? licenses) !== undefined && repository !== undefined
    const unasked = isPrivate === true ? PRIVATE : isPublished ? undefined : OWN
    return npmFound(textOf(name), textOf(version), {
      presence: 'shipped',
      rule: 'npm-copied-package',
      confidence: 'probable',
      ...(unasked === undefined ? {} : { unasked }),
    })
  },
})
