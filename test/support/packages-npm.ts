import { gzipSync } from 'node:zlib'
import { tar, type TarSpec } from './packages.ts'

export interface NpmSpec {
  readonly name: string
  readonly version: string
  /** More of the package.json; undefined takes a field away. */
  readonly json?: Readonly<Record<string, unknown>>
  /** Files beside the package.json, from the root of the package. */
  readonly files?: Readonly<Record<string, string>>
  /** What stands in the archive behind them. */
  readonly more?: readonly TarSpec[]
  /** The folder at the top; `package` when absent. */
  readonly folder?: string
}

/** The entries of a tarball as `npm pack` orders them: the package.json, then the others. */
export function npmEntries({
  name,
  version,
  json = {},
  files = {},
  more = [],
  folder = 'package',
}: NpmSpec): TarSpec[] {
  const manifest = { name, version, description: `The package ${name}`, license: 'MIT', ...json }
  return [
    { name: `${folder}/package.json`, body: JSON.stringify(manifest, null, 2) },
    ...Object.entries(files).map(([path, body]) => ({ name: `${folder}/${path}`, body })),
    ...more,
  ]
}

/** A tarball of these entries. */
export const packNpm = (entries: readonly TarSpec[]): Buffer => gzipSync(tar(entries))

/** The same bytes each time. */
export const buildNpm = (spec: NpmSpec): Buffer => packNpm(npmEntries(spec))
