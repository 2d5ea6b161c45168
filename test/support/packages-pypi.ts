import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { tar, type TarSpec } from './packages.ts'
import { buildZip, type ZipEntry } from './zip.ts'

export interface PythonSpec {
  readonly name: string
  readonly version: string
  /** Default `py3-none-any`. */
  readonly tag?: string
  /** More headers, in the order they are given; a list makes one header each. */
  readonly fields?: Readonly<Record<string, string | readonly string[]>>
  /** Below the headers. */
  readonly description?: string
  /** Paths in the wheel, or below the folder of the source release. Default: one module. */
  readonly files?: Readonly<Record<string, string | Buffer>>
}

const escaped = (name: string): string => name.replace(/[-_.]+/g, '_')
export const wheelName = ({ name, version, tag = 'py3-none-any' }: PythonSpec): string =>
  `${escaped(name)}-${version.replaceAll('-', '_')}-${tag}.whl`
export const sdistName = ({ name, version }: PythonSpec): string => `${escaped(name)}-${version}.tar.gz`

/** METADATA, or PKG-INFO. */
export function metadataText({ name, version, fields = {}, description = '' }: PythonSpec): string {
  const all = { 'Metadata-Version': '2.1', 'Name': name, 'Version': version, 'Summary': `package ${name}`, ...fields }
  const lines = Object.entries(all).flatMap(([key, value]) => [value].flat().map(one => `${key}: ${one}\n`))
  return `${lines.join('')}\n${description}`
}

const moduleOf = (spec: PythonSpec): string => `${escaped(spec.name).toLowerCase()}.py`
const filesOf = (spec: PythonSpec): Readonly<Record<string, string | Buffer>> =>
  spec.files ?? { [moduleOf(spec)]: `VERSION = '${spec.version}'\n` }

export const distInfoOf = ({ name, version }: PythonSpec): string =>
  `${escaped(name)}-${version.replaceAll('-', '_')}.dist-info`

/** A row of RECORD for a file as it is. */
export function recordRow(path: string, body: string | Buffer): string {
  const bytes = Buffer.from(body)
  return `${path},sha256=${createHash('sha256').update(bytes).digest('base64url')},${bytes.length}\n`
}

/** Everything in a wheel but RECORD, in order. */
export function wheelEntries(spec: PythonSpec): ZipEntry[] {
  const info = distInfoOf(spec)
  const [, build, tags = ''] = /^(?:(\d[^-]*)-)?([^-]+-[^-]+-[^-]+)$/.exec(spec.tag ?? 'py3-none-any') ?? []
  return [
    ...Object.entries(filesOf(spec)).map(([name, body]) => ({ name, body })),
    { name: `${info}/METADATA`, body: metadataText(spec) },
    {
      name: `${info}/WHEEL`,
      body: `Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: ${tags}\n${build === undefined ? '' : `Build: ${build}\n`}`,
    },
  ]
}

/** A wheel of these entries, with a RECORD that fits, or another text. */
export function packWheel(entries: readonly ZipEntry[], info: string, record?: string): Buffer {
  const rows = entries.map(({ name, body }) => recordRow(name, body)).join('')
  return buildZip([...entries, { name: `${info}/RECORD`, body: record ?? `${rows}${info}/RECORD,,\n` }])
}

/** A valid wheel, made in memory. Same input, same bytes. */
export const buildWheel = (spec: PythonSpec): Buffer => packWheel(wheelEntries(spec), distInfoOf(spec))

/** A source release of these entries. */
export const packSdist = (entries: readonly TarSpec[]): Buffer => gzipSync(tar(entries), { level: 6 })

/** What is in a source release that pip can build with setuptools; without build requirements. */
export function sdistEntries(spec: PythonSpec): TarSpec[] {
  const folder = `${escaped(spec.name)}-${spec.version}`
  return [
    { name: `${folder}/`, type: '5' },
    { name: `${folder}/PKG-INFO`, body: metadataText(spec) },
    {
      name: `${folder}/setup.py`,
      body: `from setuptools import setup\nsetup(name='${spec.name}', version='${spec.version}', py_modules=['${moduleOf(spec).replace(/\.py$/, '')}'])\n`,
    },
    ...Object.entries(filesOf(spec)).map(([name, body]) => ({ name: `${folder}/${name}`, body })),
  ]
}

/** A valid source release, made in memory. */
export const buildSdist = (spec: PythonSpec): Buffer => packSdist(sdistEntries(spec))
