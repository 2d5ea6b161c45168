import { UNSEEN } from '../../core/unseen.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import type { Description } from '../../core/manifest.ts'
import { isFields, type Fields } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import { Malformed, malformed, quote } from '../../lib/limited.ts'
import { needsOf } from './dependencies.ts'
import { complain } from './name.ts'
import { cleanVersion } from './version.ts'

/** The largest package.json that is read; large ones list the exports of thousands of files. */
export const MAX_PACKAGE_JSON = 4 * 2 ** 20
const MAX_TEXT = 4_096

// the database holds neither NUL nor halves of pairs, and no terminal is told to colour or turn round what follows
const UNPRINTABLE = new RegExp(`(?![\\t\\n])[${UNSEEN}]`, 'gu')

/** Foreign text for people: cut, and of characters that everything can hold. */
export function plainText(value: unknown, most = MAX_TEXT): string {
  return typeof value === 'string' ? value.slice(0, most).toWellFormed().replace(UNPRINTABLE, ' ').trim() : ''
}

/** The members of a package.json. @throws Malformed */
export function parsePackageJson(bytes: Buffer): Fields {
  try {
    return parseJsonObject(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    if (error instanceof Malformed) malformed(`package.json cannot be read: ${error.why}`, error)
    if (error instanceof TypeError) malformed('package.json cannot be read: it is not UTF-8', error)
    throw error
  }
}

/** @throws Malformed when name or version are absent or `complain` has something to say */
export function identityOf({ name, version }: Fields): PackageIdentity {
  if (typeof name !== 'string') return malformed('package.json has no name')
  if (typeof version !== 'string') return malformed('package.json has no version')
  const clean = cleanVersion(version)
  if (clean === undefined)
    return malformed(`the version ${quote(version)} is not allowed: semver.org wants three numbers such as 1.0.0`)
  const identity = { format: 'npm', name, version: clean, arch: 'any' }
  const why = complain(identity)
  return why === undefined ? identity : malformed(why)
}

/** `Jo <jo@x.org>` of a person as npm writes one: a text, or an object. */
function personOf(value: unknown): string {
  if (!isFields(value)) return plainText(value, 200)
  const [name, email] = [plainText(value['name'], 200), plainText(value['email'], 200)]
  return email === '' ? name : `${name} <${email}>`.trim()
}

/** `MIT`; older packages have an object, or several in a list. */
export function licenseOf({ license, licenses }: Fields): string {
  const one = (value: unknown): string => plainText(isFields(value) ? (value['type'] ?? value['name']) : value, 300)
  const several = Array.isArray(licenses) ? licenses : licenses === undefined ? [] : [licenses]
  const older = several.map(one).filter(Boolean).join(' OR ')
  const said = license === undefined ? '' : one(license)
  if (said === '' || older === '') return said === '' ? older : said
  // it says both: neither is passed over
  return said === older ? said : `(${said}) AND (${older})`
}

const isAddress = (text: string): boolean => /^https?:\/\/[^\s<>"]+$/.test(text)

/** What every format says of a package. @throws Malformed */
export function describe(json: Fields, { name, version }: PackageIdentity, unpackedSize: number): Description {
  const description = plainText(json['description'])
  const homepage = plainText(json['homepage'], 1_000)
  const repository = json['repository']
  const source = plainText(isFields(repository) ? repository['url'] : repository, 1_000).replace(/^git\+/, '')
  const page = [homepage, source].find(isAddress)
  const license = licenseOf(json)
  const [first] = Array.isArray(json['maintainers']) ? (json['maintainers'] as unknown[]) : []
  const maintainer = personOf(json['author'] ?? first)
  return {
    summary: (description.split('\n')[0] ?? '').slice(0, 300),
    description,
    source: name,
    source_version: version,
    ...(page === undefined ? {} : { homepage: page }),
    ...(maintainer === '' ? {} : { maintainer }),
    ...(license === '' ? {} : { license }),
    installed_size: unpackedSize,
    depends: needsOf(json),
    provides: [{ name, version }],
    conflicts: [],
  }
}

/** Words that a search finds a package by. */
export function keywordsOf({ keywords }: Fields): string[] {
  const words = typeof keywords === 'string' ? keywords.split(/[\s,]+/) : Array.isArray(keywords) ? keywords : []
  return words
    .slice(0, 100)
    .map(word => plainText(word, 100))
    .filter(Boolean)
}
