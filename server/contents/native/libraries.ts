/** A library by the name of its file; a group in it is the version, where that follows from the name. */
interface Library {
  readonly name: string
  readonly file: RegExp
  /** How to write the version, where the file has only a part of it. */
  readonly version?: (text: string) => string
}

// auditwheel puts eight digits of a digest behind the name
const soname = (stem: string, version = ''): RegExp => new RegExp(`^${stem}(?:-[0-9a-f]{8})?\\.so\\.${version}`)
const VERSION = '(\\d+\\.\\d+\\.\\d+)$'

/** Libraries that hold no version as text, or none that stands out. */
const LIBRARIES: readonly Library[] = [
  { name: 'libpng', file: soname('libpng16', '16\\.(\\d+)\\.\\d+$'), version: text => `1.6.${text}` },
  { name: 'libxml2', file: soname('libxml2', VERSION) },
  { name: 'libxslt', file: soname('libxslt', VERSION) },
  { name: 'snappy', file: soname('libsnappy', VERSION) },
  { name: 'freetype', file: soname('libfreetype') },
  { name: 'libxml2', file: soname('libxml2') },
  { name: 'libwebp', file: soname('libwebp') },
  { name: 'brotli', file: soname('libbrotli(?:common|dec|enc)', VERSION) },
  { name: 'nettle', file: soname('libnettle') },
  { name: 'giflib', file: soname('libgif') },
  { name: 'libuv', file: soname('libuv') },
  { name: 'lcms2', file: soname('liblcms2') },
  { name: 'protobuf', file: soname('libprotobuf(?:-lite)?') },
  { name: 'zstd', file: soname('libzstd', VERSION) },
  { name: 'lz4', file: soname('liblz4', VERSION) },
  { name: 'xz', file: soname('liblzma', VERSION) },
  { name: 'zlib', file: soname('libz', VERSION) },
]

/** The products that names of libraries tell. */
export const libraryNames = (): readonly string[] => LIBRARIES.map(({ name }) => name)

/** What a library is by its names, the surest first; undefined for one that is not known. */
export function libraryNamed(
  names: readonly string[],
): { readonly name: string; readonly version: string | undefined } | undefined {
  for (const { name, file, version = (text: string) => text } of LIBRARIES) {
    const match = names.map(one => file.exec(one)).find(one => one !== null)
    if (match !== undefined) return { name, version: match[1] === undefined ? undefined : version(match[1]) }
  }
  return undefined
}
