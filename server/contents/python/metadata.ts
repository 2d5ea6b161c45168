import { normalize } from 'node:path/posix'
import type { Reader } from '../reader.ts'
import { folderOf, linesOf, textReader } from '../text-file.ts'
import { codePlaces, pypiFound } from './names.ts'

/** The headers of METADATA or PKG-INFO. Source: packaging.python.org, core metadata */
function headersOf(text: string): { readonly name: string; readonly version: string } | undefined {
  const fields = new Map<string, string>()
  for (const line of linesOf(text)) {
    if (line === '') break
    const [, key, value = ''] = /^([A-Za-z-]+):(.*)$/.exec(line) ?? []
    const known = key?.toLowerCase()
    if (known !== undefined && !fields.has(known)) fields.set(known, value.trim())
  }
  const [name, version] = [fields.get('name'), fields.get('version')]
  return name === undefined || version === undefined || !fields.has('metadata-version') ? undefined : { name, version }
}

/** The folder that holds a `.dist-info` folder, for a file in that. */
const siteOf = (path: string): string => folderOf(folderOf(path).slice(0, -1))

// pip renames a folder to `~ame` while it removes it; what is left of that is no installation
const inDistInfo = (file: string): RegExp => new RegExp(`(?:^|/)[^/~][^/]*\\.dist-info/${file}$`)

/** Installed by a wheel, or a wheel itself. A lone METADATA is what an uninstallation left. */
const metadata = textReader({
  id: 'python-metadata',
  path: inDistInfo('METADATA'),
  read(text, path) {
    const headers = headersOf(text)
    if (headers === undefined) return []
    const { name, version } = headers
    return pypiFound(name, version, {
      presence: 'shipped',
      rule: 'python-metadata',
      needs: codePlaces(siteOf(path), name),
    })
  },
})

const MOST_PLACES = 20

/** The code that RECORD lists, by its first files. Source: packaging.python.org, recording installed projects */
function recorded(text: string, site: string): string[] {
  const places: string[] = []
  for (const line of linesOf(text)) {
    const [, quoted, plain = ''] = /^(?:"((?:[^"]|"")*)"|([^,]+)),/.exec(line) ?? []
    const written = quoted?.replaceAll('""', '"') ?? plain
    const path = normalize(site + written)
    if (written === '' || /^\.\.\/|\.dist-info\/|(?:^|\/)__pycache__\//.test(path)) continue
    places.push(path)
    if (places.length === MOST_PLACES) break
  }
  return places
}

/** The modules that a project says to have, one a line. */
function modules(text: string, site: string): string[] {
  const places: string[] = []
  for (const line of linesOf(text)) {
    if (/^[\w./]+$/.test(line)) places.push(site + line, `${site}${line}.py`, `${site}${line}.so`)
    if (places.length >= MOST_PLACES) break
  }
  return places
}

/** Another file of the folder that says where the code is: METADATA's row counts as shipped if it is there. */
const evidence = (file: string, placesOf: (text: string, site: string) => string[]): Reader =>
  textReader({
    id: `python-${file.toLowerCase()}`,
    path: inDistInfo(file),
    read(text, path) {
      const [, name = '', version = ''] = /([^/]+)-([^/-]+)\.dist-info\/[^/]+$/.exec(path) ?? []
      const needs = placesOf(text, siteOf(path))
      const about = { presence: 'shipped', rule: 'python-metadata', needs, path: `${folderOf(path)}METADATA` } as const
      return needs.length === 0 ? [] : pypiFound(name, version, about)
    },
  })

const INSTALLED = /(?:^|\/)(?:site|dist)-packages\//
// an installer puts the version into the name, `python setup.py develop` does not
const VERSIONED = /-\d[^/]*\.egg-info(?:\/PKG-INFO)?$/
const EGG = /(?:\.egg(?:!)?|!)\/EGG-INFO\/PKG-INFO$/
const SOURCE_RELEASE = /!\/[^/!]+-\d[^/!]*\/PKG-INFO$/

/**
 * Records that say themselves that they are about libwebp in the wheels of Pillow, imagecodecs and OpenCV. Source: the
 * PyPI advisory database, PYSEC-2023-174 and following
 */
const IN_WHEELS = {
  ids: ['174', '175', '181', '182', '183', '184'].map(n => `PYSEC-2023-${n}`),
  why: 'It was not installed from a wheel, whose libraries this is about.',
} as const
const BUNDLES_WEBP = /^(?:pillow|imagecodecs|opencv(?:-contrib)?-python(?:-headless)?)$/i

/** Installed by setuptools, an egg, or a source release; `.egg-info` in a source tree only says what it would be. */
const packageInfo = textReader({
  id: 'python-package-info',
  path: path => /\.egg-info(?:\/PKG-INFO)?$/.test(path) || EGG.test(path) || SOURCE_RELEASE.test(path),
  read(text, path) {
    const headers = headersOf(text)
    if (headers === undefined) return []
    const isThere = [INSTALLED, VERSIONED, EGG, SOURCE_RELEASE].some(rule => rule.test(path))
    const presence = isThere ? 'shipped' : 'declared'
    const cleared = BUNDLES_WEBP.test(headers.name) && path.includes('.egg-info') ? { cleared: IN_WHEELS } : {}
    return pypiFound(headers.name, headers.version, { presence, rule: 'python-package-info', ...cleared })
  },
})

/** Installed Python projects. */
export const metadataReaders: readonly Reader[] = [
  metadata,
  evidence('RECORD', recorded),
  evidence('top_level.txt', modules),
  packageInfo,
]
