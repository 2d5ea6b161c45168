import { malformed, quote } from '../../lib/limited.ts'

/** What one manifest says of another thing. Source: OCI image specification 1.1, "descriptor". */
export interface Descriptor {
  readonly mediaType: string
  /** `sha256:…` or `sha512:…` */
  readonly digest: string
  /** In bytes. */
  readonly size: number
  /** It is fetched from there and need not be here. */
  readonly urls?: readonly string[]
  readonly artifactType?: string
  readonly platform?: Platform
  readonly annotations?: Readonly<Record<string, string>>
}

/** Where an image runs. */
export interface Platform {
  readonly os: string
  readonly architecture: string
  readonly variant?: string
}

/** Source: OCI image specification 1.1, "digests"; the two algorithms that are registered there. */
export const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/
/** Source: RFC 6838, 4.2. */
const MEDIA_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/
const MOST_ANNOTATIONS = 1000
const KEYS = ['mediaType', 'digest', 'size', 'urls', 'artifactType', 'platform', 'annotations'] as const

type Fields = Readonly<Record<string, unknown>>

/** @throws Malformed for anything but an object */
export function needRecord(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) malformed(`${what} is no object`)
  return value as Fields
}

/**
 * Clients in Go take `Layers` for `layers`, others do not: they would see two images in one document.
 * @throws Malformed
 */
export function noOtherSpelling(fields: Fields, keys: readonly string[], what: string): void {
  const lower = new Set(keys.map(key => key.toLowerCase()))
  for (const key of Object.keys(fields))
    if (lower.has(key.toLowerCase()) && !keys.includes(key))
      malformed(`${what} has the field ${quote(key)}, which some clients read and others do not`)
}

/** Text that a database can keep: no NUL, no half of a character. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

/** @throws Malformed */
export function mediaTypeIn(value: unknown, what: string): string {
  if (typeof value !== 'string' || !MEDIA_TYPE.test(value))
    malformed(`${what} has no media type, but ${quote(String(value))}`)
  return value as string
}

/** Strings by strings; empty where it is absent. @throws Malformed */
export function textsOf(value: unknown, what: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {}
  const fields = needRecord(value, what)
  const entries = Object.entries(fields)
  if (entries.length > MOST_ANNOTATIONS) malformed(`${what} are more than ${MOST_ANNOTATIONS}`)
  for (const [key, text] of entries) if (!isText(key) || !isText(text)) malformed(`${what}: ${quote(key)} is no text`)
  return fields as Readonly<Record<string, string>>
}

function urlsOf(value: unknown, what: string): Pick<Descriptor, 'urls'> {
  if (value === undefined || value === null) return {}
  if (!Array.isArray(value) || value.length > 100 || !value.every(isText))
    malformed(`${what}: "urls" is no list of addresses`)
  const urls = value as readonly string[]
  return urls.length === 0 ? {} : { urls }
}

function platformOf(value: unknown, what: string): Pick<Descriptor, 'platform'> {
  if (value === undefined || value === null) return {}
  const { os, architecture, variant } = needRecord(value, `${what}: "platform"`)
  if (!isText(os) || !isText(architecture)) malformed(`${what}: its platform has no os or architecture`)
  return { platform: { os, architecture, ...(isText(variant) ? { variant } : {}) } }
}

/** @throws Malformed */
export function readDescriptor(value: unknown, what: string): Descriptor {
  const fields = needRecord(value, what)
  noOtherSpelling(fields, KEYS, what)
  const { mediaType, digest, size, urls, artifactType, platform, annotations } = fields
  if (typeof digest !== 'string' || !DIGEST.test(digest))
    malformed(`${what} has the digest ${quote(String(digest))}; it must be sha256 or sha512 in lower-case hex`)
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    malformed(`${what} has the size ${quote(String(size))}, which is no count of bytes`)
  const notes = textsOf(annotations, `${what}: its annotations`)
  return {
    mediaType: mediaTypeIn(mediaType, what),
    digest,
    size,
    ...urlsOf(urls, what),
    ...(typeof artifactType === 'string' && artifactType !== ''
      ? { artifactType: mediaTypeIn(artifactType, `${what}: its artifactType`) }
      : {}),
    ...platformOf(platform, what),
    ...(Object.keys(notes).length === 0 ? {} : { annotations: notes }),
  }
}

/** @throws Malformed */
export function readDescriptors(value: unknown, what: string): readonly Descriptor[] {
  if (!Array.isArray(value)) malformed(`its "${what}" is no list`)
  return value.map((one, n) => readDescriptor(one, `number ${n + 1} of its ${what}`))
}
