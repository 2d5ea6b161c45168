import type { ArSpec, DebSpec, TarSpec } from './packages.ts'
import { compress, controlText, debParts, packDeb, tar } from './packages.ts'

export type Row = readonly [name: string, bytes: Buffer, why: RegExp]

export const SPEC: DebSpec = { name: 'odd', version: '1.0-1' }
export const README = 'usr/share/doc/odd/README'
export const parts = debParts(SPEC)
export const CONTROL = controlText(SPEC)
export const ROOT: TarSpec = { name: './', type: '5' }
export const USR: TarSpec = { name: './usr/', type: '5' }
export const FILE: TarSpec = { name: './usr/file', body: 'hello' }

export const withData = (entries: readonly TarSpec[]): Promise<Buffer> =>
  packDeb({ control: parts.control, data: tar(entries) })
export const withControlTar = (entries: readonly TarSpec[]): Promise<Buffer> =>
  packDeb({ control: tar(entries), data: parts.data })
export const withControl = (text: string | Buffer): Promise<Buffer> =>
  withControlTar([ROOT, { name: './control', body: text }])
export const withFields = (fields: Readonly<Record<string, string>>): Promise<Buffer> =>
  withControl(controlText({ ...SPEC, fields }))
/** The control file with one line in place of the field that begins like it. */
export const withLine = (field: string, line: string): Promise<Buffer> =>
  withControl(CONTROL.replace(new RegExp(`^${field}:.*\n`, 'm'), line))

export async function members(): Promise<{ binary: ArSpec; control: ArSpec; data: ArSpec }> {
  return {
    binary: { name: 'debian-binary', body: '2.0\n' },
    control: { name: 'control.tar.gz', body: await compress(parts.control, 'gz') },
    data: { name: 'data.tar.gz', body: await compress(parts.data, 'gz') },
  }
}
