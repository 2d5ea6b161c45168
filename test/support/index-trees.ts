import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { FetchPath } from '../../server/formats/upstream.ts'

/** The files of a repository by their paths. */
export type IndexTree = Readonly<Record<string, Buffer>>

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** A package in an index of APT; other fields as they stand there. */
export interface DebEntry {
  readonly name: string
  readonly version?: string
  readonly arch?: string
  readonly fields?: Readonly<Record<string, string>>
}

export const debStanza = ({ name, version = '1.0', arch = 'amd64', fields = {} }: DebEntry): string =>
  Object.entries({
    Package: name,
    Version: version,
    Architecture: arch,
    Maintainer: 'Jo <jo@example.test>',
    Description: `the ${name} of the tests`,
    Filename: `pool/main/${name}_${version}_${arch}.deb`,
    Size: '1000',
    SHA256: sha256(`${name} ${version}`),
    ...fields,
  })
    .map(([field, value]) => `${field}: ${value}\n`)
    .join('')

export interface AptTree {
  readonly suite?: string
  readonly date?: Date
  readonly validUntil?: Date
  /** By component. */
  readonly components: Readonly<Record<string, readonly DebEntry[]>>
  /** Signs the text of `Release`; without it there is no signature. */
  readonly sign?: (text: string) => Promise<string>
}

/** An APT repository of one suite, for amd64, with indexes packed by gzip. */
export async function aptTree({ suite = 'tested', date, validUntil, components, sign }: AptTree): Promise<IndexTree> {
  const files: Record<string, Buffer> = {}
  const lines: string[] = []
  for (const [component, entries] of Object.entries(components)) {
    const bytes = gzipSync(entries.map(debStanza).join('\n'))
    const path = `${component}/binary-amd64/Packages.gz`
    files[`dists/${suite}/${path}`] = bytes
    lines.push(` ${sha256(bytes)} ${bytes.length} ${path}`)
  }
  const at = (label: string, time: Date | undefined): string[] =>
    time === undefined ? [] : [`${label}: ${time.toUTCString()}`]
  const release = [
    'Origin: Tests',
    `Suite: ${suite}`,
    `Codename: ${suite}`,
    ...at('Date', date),
    ...at('Valid-Until', validUntil),
    'Architectures: amd64',
    `Components: ${Object.keys(components).join(' ')}`,
    'SHA256:',
    ...lines,
    '',
  ].join('\n')
  if (sign === undefined) files[`dists/${suite}/Release`] = Buffer.from(release)
  else files[`dists/${suite}/InRelease`] = Buffer.from(await sign(release))
  return files
}

const PRIMARY = 'xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm"'

/** A package in an index of RPM. */
export interface RpmEntry {
  readonly name: string
  readonly version?: string
  readonly release?: string
  readonly arch?: string
  readonly requires?: readonly string[]
  readonly provides?: readonly string[]
  readonly files?: readonly string[]
}

/** Its element in `primary.xml`. */
export function rpmElement({ name, version = '1.0', release = '1', arch = 'x86_64', ...of }: RpmEntry): string {
  const list = (names: readonly string[] = []): string => names.map(one => `<rpm:entry name="${one}"/>`).join('')
  return `<package type="rpm"><name>${name}</name><arch>${arch}</arch><version epoch="0" ver="${version}" rel="${release}"/>
<checksum type="sha256" pkgid="YES">${sha256(`${name} ${version} ${release}`)}</checksum>
<summary>the ${name} of the tests</summary><size package="1000" installed="2000" archive="2000"/>
<location href="Packages/${name}-${version}-${release}.${arch}.rpm"/><format>
<rpm:sourcerpm>${name}-${version}-${release}.src.rpm</rpm:sourcerpm>
<rpm:provides><rpm:entry name="${name}" flags="EQ" epoch="0" ver="${version}" rel="${release}"/>${list(of.provides)}</rpm:provides>
<rpm:requires>${list(of.requires)}</rpm:requires>${(of.files ?? []).map(path => `<file>${path}</file>`).join('')}
</format></package>\n`
}

/** An unsigned rpm-md repository. @param modules  the text of a modules.yaml */
export function rpmTree(entries: readonly RpmEntry[], modules?: string): IndexTree {
  const primary = `<?xml version="1.0" encoding="UTF-8"?>\n<metadata ${PRIMARY} packages="${entries.length}">\n${entries.map(rpmElement).join('')}</metadata>\n`
  const files: Record<string, Buffer> = {}
  const listed = Object.entries({ primary, ...(modules === undefined ? {} : { modules }) }).map(([type, text]) => {
    const bytes = gzipSync(text)
    const path = `repodata/${type}.${type === 'primary' ? 'xml' : 'yaml'}.gz`
    files[path] = bytes
    return `<data type="${type}"><checksum type="sha256">${sha256(bytes)}</checksum><open-checksum type="sha256">${sha256(text)}</open-checksum>
<location href="${path}"/><timestamp>1700000000</timestamp><size>${bytes.length}</size><open-size>${text.length}</open-size></data>`
  })
  files['repodata/repomd.xml'] = Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>1700000000</revision>\n${listed.join('\n')}\n</repomd>\n`,
  )
  return files
}

/** Fetches from a tree, and notes the paths that were there. @param tree  asked each time: it may change */
export function fetchFrom(tree: () => IndexTree, asked: string[] = []): FetchPath {
  return path => {
    const bytes = tree()[path]
    if (bytes === undefined) return Promise.resolve(undefined)
    asked.push(path)
    return Promise.resolve(
      (async function* () {
        for (let at = 0; at < bytes.length; at += 4096) yield await Promise.resolve(bytes.subarray(at, at + 4096))
      })(),
    )
  }
}
