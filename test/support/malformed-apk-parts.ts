import type { ApkSpec } from './packages-apk.ts'
import { apkParts, cutTar, gz, packApk, pkginfoText, posixTar, sha256Hex } from './packages-apk.ts'
import type { TarSpec } from './packages.ts'

export type Row = readonly [name: string, bytes: Buffer, why: RegExp]

export const SPEC: ApkSpec = { name: 'odd', version: '1.0-r1' }
export const README = 'usr/share/doc/odd/README'
export const parts = apkParts(SPEC)
export const USR: TarSpec = { name: 'usr/', type: '5' }
export const FILE: TarSpec = { name: 'usr/file', body: 'hello' }
export const END = Buffer.alloc(1024)

/** A whole package over this data tar, with the right datahash. */
export const withDataTar = (data: Buffer): Buffer =>
  packApk({ control: cutTar([{ name: '.PKGINFO', body: pkginfoText(SPEC, sha256Hex(gz(data))) }]), data })
export const withData = (entries: readonly TarSpec[]): Buffer => withDataTar(posixTar(entries))
/** A data member as raw as it is, with the right datahash. */
export const withDataMember = (member: Buffer): Buffer =>
  Buffer.concat([gz(cutTar([{ name: '.PKGINFO', body: pkginfoText(SPEC, sha256Hex(member)) }])), member])
export const INFO = pkginfoText(SPEC, sha256Hex(gz(parts.data)))
export const withControl = (entries: readonly TarSpec[]): Buffer =>
  packApk({ control: cutTar(entries), data: parts.data })
export const withInfo = (text: string | Buffer): Buffer => withControl([{ name: '.PKGINFO', body: text }])
export const withFields = (fields: NonNullable<ApkSpec['fields']>): Buffer =>
  withInfo(pkginfoText({ ...SPEC, fields }, sha256Hex(gz(parts.data))))
export const PKGINFO: TarSpec = { name: '.PKGINFO', body: INFO }
/** A member with a signature file of these bytes. */
export const signature = (name = '.SIGN.RSA.test.rsa.pub', body: string | Buffer = Buffer.alloc(256, 7)): Buffer =>
  gz(cutTar([{ name, body }]))
