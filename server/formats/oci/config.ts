import { fieldsOf } from '../../lib/fields.ts'
import { Malformed, malformed } from '../../lib/limited.ts'
import type { Platform } from './descriptor.ts'
import { saysImage, type OciDocument } from './document.ts'

/** What the config of an image says of it. */
export interface ImageConfig {
  readonly platform?: Platform
  /** When its builder says that it was made. */
  readonly created?: Date
  /** Of its labels: an SPDX expression. */
  readonly licenses?: string
}

/** The most bytes of an image's config; those of real images have some ten thousand. */
export const MAX_CONFIG = 4 * 2 ** 20
export const CREATED = 'org.opencontainers.image.created'
const LICENSES = 'org.opencontainers.image.licenses'
/** Before there were images. Builds that can be repeated write 1970 or the year 1. */
const FIRST = Date.UTC(2013, 0, 1)

/** A date as builders write it, where it can be one of an image. Source: RFC 3339. */
export function dateIn(text: unknown): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\dT/.test(text)) return undefined
  const at = Date.parse(text)
  return at >= FIRST ? new Date(at) : undefined
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** @throws Malformed */
export function readConfig(bytes: Buffer): ImageConfig {
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return malformed('its config is no JSON, although its media type says so', error)
  }
  if (typeof json !== 'object' || json === null) malformed('its config is no object')
  const { os, architecture, variant, created, config } = json as Readonly<Record<string, unknown>>
  const [system, processor, kind] = [textOf(os), textOf(architecture), textOf(variant)]
  const at = dateIn(created)
  const licenses = textOf(fieldsOf(fieldsOf(config)['Labels'])[LICENSES])
  return {
    ...(system === undefined || processor === undefined
      ? {}
      : { platform: { os: system, architecture: processor, ...(kind === undefined ? {} : { variant: kind }) } }),
    ...(at === undefined ? {} : { created: at }),
    ...(licenses === undefined ? {} : { licenses }),
  }
}

/** The same of what runs as an image; empty where that does not say it has such a config. @throws Malformed */
export function readConfigOf({ config }: Pick<OciDocument, 'config'>, bytes: Buffer): ImageConfig {
  try {
    return readConfig(bytes)
  } catch (error) {
    if (error instanceof Malformed && config !== undefined && !saysImage(config)) return {}
    throw error
  }
}

/** The architecture in the identity of a manifest. @param platform  that of its config, of an image */
export function archOf({ kind }: Pick<OciDocument, 'kind'>, platform: Platform | undefined): string {
  if (kind === 'index') return 'index'
  if (platform === undefined) return 'artifact'
  const { os, architecture, variant } = platform
  return [os, architecture, ...(variant === undefined ? [] : [variant])].join('/')
}
