import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { tar, type FileSpec } from './packages.ts'

/** Bytes by file name. */
export type Files = Readonly<Record<string, Buffer>>

export interface SourceSpec {
  readonly name: string
  readonly version: string
  readonly format?: '1.0' | '3.0 (quilt)' | '3.0 (native)'
  /** More fields of the .dsc, or others in place of the default ones. */
  readonly fields?: Readonly<Record<string, string>>
  /** What the upstream tarball holds; one small file unless said. */
  readonly files?: Readonly<Record<string, Extract<FileSpec, string | Buffer>>>
}

const hex = (algorithm: string, body: Buffer): string => createHash(algorithm).update(body).digest('hex')

/** `Files` and both `Checksums` of a control file over these files. */
export function listFiles(files: Files, extra = ''): Readonly<Record<string, string>> {
  const list = (algorithm: string, between = ''): string =>
    Object.entries(files)
      .map(([name, body]) => `\n ${hex(algorithm, body)} ${body.length} ${between}${name}`)
      .join('')
  return {
    'Checksums-Sha1': list('sha1'),
    'Checksums-Sha256': list('sha256'),
    'Files': list('md5', extra),
  }
}

/** A control paragraph; a value that begins with a line break has nothing on its first line. */
export function printParagraph(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}:${value.startsWith('\n') ? '' : ' '}${value}\n`)
    .join('')
}

const fileVersion = (version: string): string => version.replace(/^\d+:/, '')

/** `acme_1.0-1.dsc` */
export const dscName = ({ name, version }: Pick<SourceSpec, 'name' | 'version'>): string =>
  `${name}_${fileVersion(version)}.dsc`

function control({ name }: SourceSpec): string {
  return `Source: ${name}\nMaintainer: Jo <jo@example.test>\n\nPackage: ${name}\nArchitecture: all\nDescription: does things\n`
}

/** The tarballs and diffs of a source package, as dpkg-source takes them apart. */
function partsOf(spec: SourceSpec): Files {
  const { name, version, format = '3.0 (quilt)', files = { hello: 'hello\n' } } = spec
  const upstream = fileVersion(version).replace(/-[^-]*$/, '')
  const entries = Object.entries(files).map(([path, body]) => ({ name: `${name}-${upstream}/${path}`, body }))
  const folder = [{ name: `${name}-${upstream}/`, type: '5' }]
  const debian = (prefix: string) => [
    { name: `${prefix}debian/`, type: '5' },
    { name: `${prefix}debian/source/`, type: '5' },
    { name: `${prefix}debian/source/format`, body: `${format}\n` },
    { name: `${prefix}debian/control`, body: control(spec) },
    {
      name: `${prefix}debian/changelog`,
      body: `${name} (${version}) bookworm; urgency=low\n\n  * New.\n\n -- Jo <jo@example.test>  Sun, 22 Nov 2026 10:00:00 +0000\n`,
    },
    { name: `${prefix}debian/rules`, body: '#!/usr/bin/make -f\n%:\n\tdh $@\n', mode: 0o755 },
  ]
  const base = `${name}_${fileVersion(version)}`
  if (format === '3.0 (native)')
    return { [`${base}.tar.gz`]: gzipSync(tar([...folder, ...entries, ...debian(`${name}-${upstream}/`)])) }
  const orig = { [`${name}_${upstream}.orig.tar.gz`]: gzipSync(tar([...folder, ...entries])) }
  if (format === '3.0 (quilt)') return { ...orig, [`${base}.debian.tar.gz`]: gzipSync(tar(debian(''))) }
  const diff = `--- ${name}-${upstream}.orig/debian/rules\n+++ ${name}-${upstream}/debian/rules\n@@ -0,0 +1,3 @@\n+#!/usr/bin/make -f\n+%:\n+\tdh $@\n`
  return { ...orig, [`${base}.diff.gz`]: gzipSync(diff) }
}

/** A source package: its tarballs and, last, its .dsc. Built in this process; dpkg-source reads it. */
export function buildSource(spec: SourceSpec): Files {
  const { name, version, format = '3.0 (quilt)', fields = {} } = spec
  const parts = partsOf(spec)
  const dsc = printParagraph({
    'Format': format,
    'Source': name,
    'Binary': name,
    'Architecture': 'all',
    'Version': version,
    'Maintainer': 'Jo <jo@example.test>',
    'Standards-Version': '4.6.2',
    'Package-List': `\n ${name} deb utils optional arch=all`,
    ...listFiles(parts),
    ...fields,
  })
  return { ...parts, [dscName(spec)]: Buffer.from(dsc) }
}

export interface ChangesSpec {
  readonly source: string
  readonly version: string
  readonly distribution: string
  readonly files: Files
  readonly fields?: Readonly<Record<string, string>>
}

/** A .changes over files, unsigned. */
export function buildChanges({ source, version, distribution, files, fields = {} }: ChangesSpec): Buffer {
  return Buffer.from(
    printParagraph({
      'Format': '1.8',
      'Date': 'Sun, 22 Nov 2026 10:00:00 +0000',
      'Source': source,
      'Binary': source,
      'Architecture': 'source all',
      'Version': version,
      'Distribution': distribution,
      'Urgency': 'medium',
      'Maintainer': 'Jo <jo@example.test>',
      'Changed-By': 'Jo <jo@example.test>',
      'Description': `\n ${source} - does things`,
      'Closes': '123 45',
      'Changes': `\n ${source} (${version}) ${distribution}; urgency=medium\n .\n   * New. Closes: #123, #45`,
      ...listFiles(files, 'utils optional '),
      ...fields,
    }),
  )
}
