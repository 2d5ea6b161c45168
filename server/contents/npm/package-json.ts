import { parseJsonObject } from '../json-file.ts'
import { textOf, textReader } from '../text-file.ts'
import { npmFound } from './npm-found.ts'

// only at a package's root: others are fixtures, or say how the files below them are loaded
const INSTALLED = /(?:^|\/)(?:node_modules|usr\/(?:share|lib)\/nodejs)\/(?:@[^/]+\/)?[^/@]+\/package\.json$/
// what `npm pack` writes; a tar in the gzip may stand as a step of its own
const PACKED = /\.(?:tgz|tar\.gz)!\/(?:[^/!]+!\/)?package\/package\.json$/

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
      ...(isPrivate === true ? { unasked: 'It is marked private: no registry has it.' } : {}),
    })
  },
})
