import { Type, type TSchema } from '@sinclair/typebox'
import { ONE_LINE } from '../core/rule.ts'

interface Available {
  /**
   * Why this version does nothing with it, and what does: it is shown as it is kept, the console leaves it out, and a
   * change is refused.
   */
  readonly inert?: string
}
/** `rule` says in words what the pattern asks: "it must be …". */
interface Texted extends Available {
  /** Encrypted at rest, `***` in every answer. */
  readonly secret?: true
  readonly pattern?: string
  readonly rule?: string
  /** What a pattern cannot say: why a value cannot be taken, as the sentence goes on from its name. */
  readonly complain?: (value: string) => string | undefined
  readonly maxLength?: number
}

export const bool = (value: boolean, description: string) => Type.Boolean({ default: value, description })
export const int = (
  value: number,
  range: readonly [number, number],
  description: string,
  unit?: string,
  more: Available = {},
) =>
  Type.Integer({
    ...more,
    default: value,
    minimum: range[0],
    maximum: range[1],
    description,
    ...(unit === undefined ? {} : { unit }),
  })
export const number = (value: number, range: readonly [number, number], description: string, unit: string) =>
  Type.Number({ default: value, minimum: range[0], maximum: range[1], description, unit })
export const fraction = (value: number, description: string) =>
  Type.Number({ default: value, minimum: 0, maximum: 1, description })
export const text = (value: string, description: string, more: Texted = {}) =>
  Type.String({
    default: value,
    description,
    maxLength: 2_000,
    ...(more.secret === true ? {} : { pattern: ONE_LINE }),
    ...more,
  })
export const choice = <const Words extends readonly string[]>(
  words: Words,
  value: Words[number],
  description: string,
  more: Available = {},
) =>
  Type.Unsafe<Words[number]>(
    Type.Union(
      words.map(word => Type.Literal(word)),
      { enum: [...words], default: value, description, ...more },
    ),
  )
/** Opens a section; `edition` names the feature that the community edition refuses. */
export const section = <const Leaves extends Record<string, TSchema>>(
  description: string,
  leaves: Leaves,
  more: Available & { readonly edition?: string } = {},
) => Type.Object(leaves, { description, additionalProperties: false, ...more })
export const toggles = (description: string, more: Available = {}) =>
  Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$' }), Type.Boolean(), {
    default: {},
    description,
    additionalProperties: false,
    ...more,
  })

/** The colours of the console's stripe: names of its tokens. */
export const APPLIANCE_COLOURS = ['ochre', 'brick', 'plum', 'cobalt', 'pine', 'slate'] as const
export const ACTIONS = ['block', 'review', 'warn', 'allow'] as const
export const HOUR = [0, 23] as const
export const MINUTE = [0, 59] as const
export const SHA256_OR_EMPTY = { pattern: '^$|^[0-9a-fA-F]{64}$', rule: 'the 64 hex digits of a SHA-256, or empty' }
export const PUBLIC_KEY_OR_EMPTY = {
  pattern: '^$|^-----BEGIN PGP PUBLIC KEY BLOCK-----[\\t\\r\\n -~]*-----END PGP PUBLIC KEY BLOCK-----\\s*$',
  rule: 'a public OpenPGP key in its armour, from -----BEGIN to END PUBLIC KEY BLOCK-----, or empty',
}
export const UPDATEINFO_URLS = {
  pattern: '^$|^ *[a-z0-9.-]+=https?://[^\\s]+( +[a-z0-9.-]+=https?://[^\\s]+)* *$',
  rule: 'empty, or codename=address separated by blanks, such as almalinux9=https://mirror.example/updateinfo.xml',
}
export const URLS = {
  pattern: '^$|^ *https?://[^\\s]+( +https?://[^\\s]+)* *$',
  rule: 'empty, or addresses that begin with http:// or https://, separated by blanks',
}
export const URL_OR_EMPTY = {
  pattern: '^$|^https?://[^\\s]+$',
  rule: 'an address that begins with http:// or https:// and holds no blanks, or empty',
}
export const HOSTS = {
  pattern: '^$|^ *[A-Za-z0-9_.:/-]+( *, *[A-Za-z0-9_.:/-]+)* *$',
  rule: 'empty, or host names, addresses and networks separated by commas, such as chat.example, 10.0.0.5, 10.1.0.0/16',
}
export const ZONE = {
  pattern: `^$|^(?:${Intl.supportedValuesOf('timeZone').join('|').replaceAll('+', '\\+')}|UTC)$`,
  rule: 'empty, or the name of a time zone such as Europe/Paris or UTC',
}
const FOLDER = '^/[^\\u0000-\\u001f\\u007f"\\\\#]*$'
const FOLDER_RULE = 'a path that begins with / and holds no quotes, backslashes or #'
/** The name must end in `.log`: it is read, and nothing else of this machine may be read by naming it here. */
export const LOG_OR_EMPTY = {
  pattern: '^$|^/[^\\u0000-\\u001f\\u007f"\\\\#]*[^/]\\.log$',
  rule: 'the path of a file that begins with / and ends in .log, or empty',
}
export const FOLDER_NAME = { pattern: FOLDER, rule: FOLDER_RULE }
export const FOLDER_OR_EMPTY = { pattern: `^$|${FOLDER}`, rule: `${FOLDER_RULE}, or empty` }
export const schedule = (enabled: boolean, hour: number, minute: number, what: string) => ({
  enabled: bool(enabled, `Run ${what} daily.`),
  hour: int(hour, HOUR, 'Hour of the day it runs at, local time.', 'h'),
  minute: int(minute, MINUTE, 'Minute of that hour.', 'min'),
})
