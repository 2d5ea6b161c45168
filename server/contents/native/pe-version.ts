import { openImages } from '../binary/images.ts'
import { mayBePe } from '../binary/pe.ts'
import { peStrings, type PeStrings } from '../binary/pe-strings.ts'
import type { Found, Reader } from '../reader.ts'
import { fileNameOf, isNamed } from '../text-file.ts'

/** Products by the names of their libraries on Windows; others are many and nothing is known of them. */
const PRODUCTS: readonly (readonly [file: RegExp, name: string])[] = [
  [/^(?:lib(?:crypto|ssl)|libeay32|ssleay32)/, 'openssl'],
  [/^zlib(?:1|wapi|1d)?$/, 'zlib'],
  [/^libcurl/, 'curl'],
  [/^sqlite3$/, 'sqlite'],
  [/^python\d*$/, 'python'],
  [/^libpq/, 'postgresql'],
  [/^libmysql$/, 'mysql'],
  [/^libmariadb$/, 'mariadb'],
  [/^libpng\d*$/, 'libpng'],
  [/^(?:lib)?tiff\d*$/, 'libtiff'],
  [/^(?:lib)?freetype\d*$/, 'freetype'],
  [/^libxml2$/, 'libxml2'],
  [/^libxslt$/, 'libxslt'],
  [/^libexpat$/, 'expat'],
  [/^(?:lib)?zstd$/, 'zstd'],
  [/^liblzma$/, 'xz'],
  [/^libssh2$/, 'libssh2'],
  [/^(?:lib)?git2/, 'libgit2'],
  [/^icu(?:uc|in|dt)\d+$/, 'icu'],
  [/^(?:avcodec|avformat|avutil|swscale)-\d+$/, 'ffmpeg'],
  [/^qt[56]core$/, 'qt'],
  [/^jvm$/, 'openjdk'],
  [/^php\d(?:ts)?$/, 'php'],
  [/^node$/, 'node'],
]

const stemOf = (name: string): string => name.replace(/\.(?:dll|exe|pyd|mui|ocx)$/i, '')

/** `13.0.1+commit`, `4.8.4084.0 built by: NET48REL1`, `1, 2, 11, 0`: what stands before anything else. */
function versionIn({ ProductVersion = '', FileVersion = '' }: PeStrings): string | undefined {
  for (const text of [ProductVersion, FileVersion]) {
    const [, version] =
      /^v?(\d+(?:(?:\.|, ?)\d+){1,3}(?:[a-z](?![a-z])|-[0-9A-Za-z][0-9A-Za-z.-]*)?)(?![\w.])/.exec(text) ?? []
    if (version !== undefined && /[1-9]/.test(version)) return version.replace(/, ?/g, '.')
  }
  return undefined
}

function assemblyFound(strings: PeStrings, file: string): Found[] {
  const original = strings.OriginalFilename ?? ''
  const name = stemOf(/^[\w.-]+\.(?:dll|exe)$/i.test(original) ? original : file)
  // translations of a library carry its name
  if (/\.resources$/.test(name) || !/^[\w.-]+$/.test(name)) return []
  return [
    {
      type: 'nuget',
      name,
      version: versionIn(strings),
      presence: 'shipped',
      rule: 'dotnet-assembly',
      confidence: 'probable',
    },
  ]
}

function libraryFound(strings: PeStrings, file: string): Found[] {
  const stem = stemOf(file).toLowerCase()
  const name = PRODUCTS.find(([pattern]) => pattern.test(stem))?.[1]
  const version = versionIn(strings)
  if (name === undefined || version === undefined) return []
  return [{ type: 'generic', name, version, presence: 'shipped', rule: 'pe-version', confidence: 'probable' }]
}

/**
 * Windows programs and libraries by the version that their properties show. An assembly of .NET counts as the NuGet
 * package of its name: the product version is the package's, the file version is not.
 */
export const peVersion: Reader = {
  id: 'pe-version',
  wants: ({ head }) => mayBePe(head),
  async read(file) {
    const [image] = await openImages(file)
    if (image === undefined) return { found: [] }
    const strings = await peStrings(image)
    const name = fileNameOf(file.path)
    const found = image.isManaged === true ? assemblyFound(strings, name) : libraryFound(strings, name)
    return { found: found.filter(isNamed) }
  },
}
