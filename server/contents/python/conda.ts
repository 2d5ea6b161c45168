import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found } from '../reader.ts'
import { fileNameOf, folderOf, textOf, textReader } from '../text-file.ts'

const MOST_PLACES = 20

/** Source: package-url/purl-spec, conda: build, channel and subdir are qualifiers. */
function condaFound(text: string, rule: string, root?: string): Found[] {
  const { name, version, build, channel, subdir, files } = parseJsonObject(text)
  if (textOf(name) === '' || textOf(version) === '') return []
  const places = Array.isArray(files) ? files.map(textOf).filter(file => file !== '') : []
  return [
    {
      type: 'conda',
      name: textOf(name),
      version: textOf(version),
      qualifiers: {
        build: textOf(build),
        // an address: its last part is the channel, after that of the platform
        channel: fileNameOf(textOf(channel).replace(/\/(?:noarch|[a-z]+-[\w]+)?\/?$/, '')),
        subdir: textOf(subdir),
      },
      presence: 'shipped',
      rule,
      confidence: 'certain',
      ...(root === undefined || places.length === 0
        ? {}
        : { needs: places.slice(0, MOST_PLACES).map(file => root + file) }),
    },
  ]
}

/** What conda installed. Source: docs.conda.io, "conda-meta" */
export const condaMeta = textReader({
  id: 'conda-meta',
  path: /(?:^|\/)conda-meta\/[^/]+\.json$/,
  read: (text, path) => condaFound(text, 'conda-meta', folderOf(folderOf(path).slice(0, -1))),
})

/** A package of conda that was not unpacked: `.conda` and `.tar.bz2`. */
export const condaPackage = textReader({
  id: 'conda-package',
  path: /\.(?:conda|tar\.bz2|tar|tar\.zst)!\/info\/index\.json$/,
  read: text => condaFound(text, 'conda-package'),
})
