import { documentsFrom } from '../../formats/npm/documents.ts'
import { complain, tarballName } from '../../formats/npm/name.ts'
import { licenseOf, plainText } from '../../formats/npm/package-json.ts'
import { cleanVersion } from '../../formats/npm/version.ts'
import type { RemoteFile } from '../../core/remote-file.ts'
import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { membersOf, parseJson } from '../../lib/json-file.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type { IndexAnswer, RemoteEntry, RemoteIndex, RemoteReader } from '../remote/reader.ts'

/** What is kept of a packument beside its versions. */
export interface RemoteNpmAbout {
  readonly tags: Readonly<Record<string, string>>
  /** So many versions have a number or an address that clients cannot use, and are left out. */
  readonly leftOut: number
}

/** What is kept of a version and may change later. */
export interface RemoteNpmFacts {
  readonly deprecated?: string
  /** The part of `dist` that is passed on. */
  readonly dist: Readonly<Record<string, unknown>>
  /** Its upstream lists it in the abbreviated form, which has no scripts. */
  readonly isShort?: true
}

const MOST_DEPRECATION = 1_000
const MOST_SIGNATURES = 10
const ALGORITHMS = { sha512: 64, sha256: 32, sha1: 20 } as const

const dateOf = (value: unknown): string | undefined => {
  const at = new Date(typeof value === 'string' ? value : Number.NaN)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The digests that `dist` says, in hex. Source: w3.org/TR/SRI, "integrity metadata" */
function digestsOf({ integrity, shasum }: Fields): RemoteFile['digests'] {
  const found: { -readonly [Name in keyof typeof ALGORITHMS]?: string } = {}
  if (typeof shasum === 'string' && /^[0-9a-f]{40}$/i.test(shasum)) found.sha1 = shasum.toLowerCase()
  for (const one of typeof integrity === 'string' ? integrity.trim().split(/\s+/) : []) {
    const [, name = '', text = ''] = /^(sha512|sha256|sha1)-([A-Za-z0-9+/]+=*)(?:\?.*)?$/.exec(one) ?? []
    const bytes = Buffer.from(text, 'base64')
    const known = Object.entries(ALGORITHMS).some(([algorithm, size]) => algorithm === name && size === bytes.length)
    if (known) found[name as keyof typeof ALGORITHMS] ??= bytes.toString('hex')
  }
  return found
}

/** Where the bytes of a version are. A server may write `http` of itself although it is asked by `https`. */
function addressOf(tarball: unknown, url: string): string | undefined {
  if (typeof tarball !== 'string' || !URL.canParse(tarball, url)) return undefined
  const [address, asked] = [new URL(tarball, url), new URL(url)]
  address.hash = ''
  const isDowngrade = address.protocol === 'http:' && asked.protocol === 'https:'
  if (isDowngrade && address.hostname === asked.hostname) {
    address.protocol = asked.protocol
    address.host = asked.host
  }
  return address.protocol === 'http:' || address.protocol === 'https:' ? address.href : undefined
}

/** Signatures of the registry that published it: they are over its digest, which stays. */
function signaturesOf(value: unknown): readonly Fields[] {
  return (Array.isArray(value) ? (value as unknown[]) : []).slice(0, MOST_SIGNATURES).flatMap(one => {
    const { keyid, sig } = fieldsOf(one)
    return typeof keyid === 'string' && typeof sig === 'string' && keyid.length + sig.length < 2_000
      ? [{ keyid, sig }]
      : []
  })
}

function factsOf(said: Fields): RemoteNpmFacts {
  const { deprecated, scripts, _id: id } = said
  const { fileCount, unpackedSize, signatures } = fieldsOf(said['dist'])
  const text = deprecated === true ? 'This version is deprecated.' : plainText(deprecated, MOST_DEPRECATION)
  const signed = signaturesOf(signatures)
  return {
    ...(text === '' ? {} : { deprecated: text }),
    dist: {
      ...(Number.isSafeInteger(fileCount) ? { fileCount } : {}),
      ...(Number.isSafeInteger(unpackedSize) ? { unpackedSize } : {}),
      ...(signed.length === 0 ? {} : { signatures: signed }),
    },
    // whatever was asked for, and whatever type it says
    ...(scripts === undefined && id === undefined ? { isShort: true } : {}),
  }
}

/** A version that clients can install; undefined for others. */
function entryOf(
  key: string,
  said: unknown,
  { name, url: asked, time }: Pick<IndexAnswer, 'name' | 'url'> & { readonly time: Fields },
): RemoteEntry | undefined {
  if (!isFields(said)) return undefined
  const inside = said['version']
  const isAnother = said['name'] !== name || typeof inside !== 'string' || cleanVersion(inside) !== key
  if (isAnother || complain({ format: 'npm', name, version: key, arch: 'any' }) !== undefined) return undefined
  const dist = fieldsOf(said['dist'])
  const url = addressOf(dist['tarball'], asked)
  if (url === undefined) return undefined
  const documents = documentsFrom(said, { name, version: key })
  const facts = factsOf(said)
  const at = dateOf(Object.hasOwn(time, key) ? time[key] : undefined)
  return {
    version: key,
    arch: 'any',
    ...(at === undefined ? {} : { published_at: at }),
    file: { url, filename: tarballName({ name, version: key }), digests: digestsOf(dist) },
    facts: { ...facts },
    // the abbreviated form has none
    ...(facts.isShort === true ? {} : { license: licenseOf(said) }),
    full_document: documents.full,
    short_document: documents.short,
  }
}

/** A part of the packument, or nothing where it has none. */
const partOf = (text: string | undefined): Fields => fieldsOf(text === undefined ? undefined : parseJson(text))

function read({ name, url, bytes }: IndexAnswer): RemoteIndex {
  // of the largest packuments the versions alone have 20 MB: they are parsed one by one
  const parts = new Map(membersOf(bytes.toString('utf8')))
  const said = parts.get('name')
  const about = said === undefined ? undefined : parseJson(said)
  if (about !== name) malformed(`it is about ${quote(String(about))}, and ${quote(name)} was asked for`)
  const time = partOf(parts.get('time'))
  const tags = Object.entries(partOf(parts.get('dist-tags'))).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string' && plainText(pair[0]) === pair[0],
  )
  let leftOut = 0
  function* entries(): Generator<RemoteEntry> {
    for (const [key, text] of membersOf(parts.get('versions') ?? '{}')) {
      const entry = entryOf(key, parseJson(text), { name, url, time })
      if (entry === undefined) leftOut++
      else yield entry
    }
  }
  return {
    entries: entries(),
    about: () => ({ tags: Object.fromEntries(tags), leftOut }) satisfies RemoteNpmAbout,
  }
}

/** Reads the packuments of an upstream. The full ones: only they have the times of versions. */
export const npmReader: RemoteReader = {
  format: 'npm',
  // as clients write it
  ask: name => ({ path: `/${name.replace('/', '%2f')}`, accept: 'application/json' }),
  read,
}
