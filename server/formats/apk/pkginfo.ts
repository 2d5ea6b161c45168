import { isUtf8 } from 'node:buffer'
import type { PackageIdentity } from '../../core/identity.ts'
import type { Description } from '../../core/manifest.ts'
import { trimBlanks } from '../../lib/blanks.ts'
import { malformed, printBytes, quote } from '../../lib/limited.ts'
import type { ApkFacts } from './facts.ts'
import { parseDepends, parseProvides } from './relation.ts'
import { complainVersion } from './version.ts'

/** The largest .PKGINFO; that of Alpine's own with the most relations has about 30 KiB. */
export const MAX_PKGINFO = 256 * 1024
const MAX_LINES = 20_000
/** apk-tools reads a line of its index into 128 KiB. */
const MAX_LIST = 64 * 1024
/** apk-tools 2 and 3 keep the record of an installed package, without its relations, in 2048 bytes. */
const MAX_CARD = 1800

/** Fields that may appear once: of two, some readers would take the first and others the last. */
const SINGLE = [
  'pkgname',
  'pkgver',
  'pkgdesc',
  'url',
  'builddate',
  'packager',
  'size',
  'arch',
  'origin',
  'commit',
  'maintainer',
  'license',
  'datahash',
  'provider_priority',
  'replaces_priority',
] as const
const LISTS = ['depend', 'provides', 'replaces', 'install_if'] as const
type Single = (typeof SINGLE)[number]
type List = (typeof LISTS)[number]

/** A parsed `.PKGINFO`: single fields, and lists as their words. */
export interface Pkginfo {
  readonly single: ReadonlyMap<string, string>
  readonly lists: Readonly<Record<List, readonly string[]>>
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) malformed('.PKGINFO is not UTF-8')
  const text = bytes.toString('utf8')
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
  const odd = /[\u0000-\u0008\u000b-\u001f\u007f\u2028\u2029]/.exec(text)
  if (odd !== null) malformed(`.PKGINFO holds the control character ${quote(odd[0])}`)
  return text
}

const isOf = <T extends string>(names: readonly T[], name: string): name is T =>
  (names as readonly string[]).includes(name)

/**
 * Reads lines of `name = value`; `#` begins a comment. Unknown fields are ignored, as apk does.
 * @throws Malformed
 * Source: apk-package(5), "PKGINFO"; the names are those of apk-tools, src/package.c.
 */
export function parsePkginfo(bytes: Buffer): Pkginfo {
  const single = new Map<string, string>()
  const lists: Record<List, string[]> = { depend: [], provides: [], replaces: [], install_if: [] }
  const lines = decode(bytes).split('\n')
  if (lines.length > MAX_LINES) malformed(`.PKGINFO has more than ${MAX_LINES} lines`)
  for (const [index, line] of lines.entries()) {
    if (line === '' || line.startsWith('#')) continue
    // some tools write an empty value without the space after the sign
    const match = /^([A-Za-z0-9_]+) =(?: (.*))?$/.exec(line)
    if (match === null)
      return malformed(`line ${index + 1} of .PKGINFO is ${quote(line)}; a name, " = " and a value are needed`)
    const [, name = '', value = ''] = match
    if (isOf(LISTS, name)) lists[name].push(...value.split(' ').filter(word => word !== ''))
    if (!isOf(SINGLE, name)) continue
    if (single.has(name)) malformed(`.PKGINFO has the field ${name} twice`)
    single.set(name, trimBlanks(value))
  }
  for (const name of LISTS) {
    if (lists[name].join(' ').length > MAX_LIST)
      malformed(`the fields ${name} of .PKGINFO have more than ${printBytes(MAX_LIST)} together`)
  }
  return { single, lists }
}

const valueOf = ({ single }: Pkginfo, name: Single): string => single.get(name) ?? ''

const MAX_NAME = 128
/** Name, version, a hyphen and `.apk` make one file name; 255 bytes is the most a file system takes. */
const MAX_FILE_NAME = 240
const NAME = /^[A-Za-z0-9_][A-Za-z0-9+._-]*$/

/**
 * Why a name, version or architecture is refused, or undefined. Source: apk-package(5); the characters of src/ctype.c.
 */
export function complain({ name, version, arch }: PackageIdentity): string | undefined {
  if (name.length > MAX_NAME) return `the package name has ${name.length} characters, at most ${MAX_NAME} are allowed`
  if (!NAME.test(name))
    return `the package name ${quote(name)} is not allowed: letters, digits and + - . _ are, and no + - . first`
  const why = complainVersion(version)
  if (why !== undefined) return `the version ${quote(version)} is not allowed: ${why}`
  if (arch.length > 32 || !/^[a-z0-9][a-z0-9_]*$/.test(arch))
    return `the architecture ${quote(arch)} is not allowed: a package is built for one, such as x86_64, or for noarch`
  if (name.length + version.length > MAX_FILE_NAME) return 'name and version together are too long for a file name'
  return undefined
}

const REQUIRED = ['pkgname', 'pkgver', 'arch', 'datahash'] as const

/** @throws Malformed when a field is missing or `complain` has something to say */
export function identityOf(info: Pkginfo): PackageIdentity {
  for (const field of REQUIRED)
    if (valueOf(info, field) === '')
      malformed(`.PKGINFO has no field ${field}, or it is empty; apk refuses a package without it`)
  const identity = {
    format: 'apk',
    name: valueOf(info, 'pkgname'),
    version: valueOf(info, 'pkgver'),
    arch: valueOf(info, 'arch'),
  } as const
  const why = complain(identity)
  if (why !== undefined) malformed(why)
  return identity
}

/** The SHA-256 that the data member must have, lower-case hex. @throws Malformed */
export function dataHashOf(info: Pkginfo): string {
  const hash = valueOf(info, 'datahash')
  return /^[0-9a-f]{64}$/i.test(hash)
    ? hash.toLowerCase()
    : malformed(`the field datahash of .PKGINFO is ${quote(hash)}; a SHA-256 is needed`)
}

function number(info: Pkginfo, name: Single): number | undefined {
  const value = valueOf(info, name)
  if (value === '') return undefined
  return /^\d{1,15}$/.test(value)
    ? Number(value)
    : malformed(`the field ${name} of .PKGINFO is ${quote(value)}, which is not a number`)
}

/** The package as the rest of the server reads it. @throws Malformed for relations that apk would not read */
export function describe(info: Pkginfo, identity: PackageIdentity): Description {
  const { depends, conflicts } = parseDepends(info.lists.depend, 'depend')
  const origin = valueOf(info, 'origin')
  if (origin !== '' && (!NAME.test(origin) || origin.length > MAX_NAME))
    malformed(`the field origin of .PKGINFO is ${quote(origin)}; a package name is needed`)
  const optional = [
    ['homepage', valueOf(info, 'url')],
    ['maintainer', valueOf(info, 'maintainer')],
    ['license', valueOf(info, 'license')],
  ] as const
  return {
    summary: valueOf(info, 'pkgdesc'),
    description: '',
    source: origin === '' ? identity.name : origin,
    source_version: identity.version,
    ...Object.fromEntries(optional.filter(([, value]) => value !== '')),
    installed_size: number(info, 'size') ?? 0,
    depends,
    conflicts,
    // its own name comes first, since dependencies are looked up in this list alone
    provides: [{ name: identity.name, version: identity.version }, ...parseProvides(info.lists.provides)],
  }
}

/** What the index needs. @param checksum  of the control member, as the index writes it @throws Malformed */
export function factsOf(info: Pkginfo, checksum: string): ApkFacts {
  parseDepends(info.lists.replaces, 'replaces')
  parseDepends(info.lists.install_if, 'install_if')
  const text = {
    description: valueOf(info, 'pkgdesc'),
    url: valueOf(info, 'url'),
    license: valueOf(info, 'license'),
    origin: valueOf(info, 'origin'),
    maintainer: valueOf(info, 'maintainer'),
    commit: valueOf(info, 'commit'),
  }
  const card = Object.values(text).join('') + valueOf(info, 'pkgname') + valueOf(info, 'pkgver')
  if (Buffer.byteLength(card) > MAX_CARD)
    malformed(
      `description, URL, licence, maintainer and names of .PKGINFO have more than ${MAX_CARD} bytes together, which apk cannot keep`,
    )
  const [providerPriority, replacesPriority] = [number(info, 'provider_priority'), number(info, 'replaces_priority')]
  const { depend: depends, provides, replaces, install_if: installIf } = info.lists
  return {
    checksum,
    ...text,
    built: number(info, 'builddate') ?? 0,
    installed: number(info, 'size') ?? 0,
    depends,
    provides,
    replaces,
    installIf,
    ...(providerPriority === undefined ? {} : { providerPriority }),
    ...(replacesPriority === undefined ? {} : { replacesPriority }),
  }
}
