import { Type, type Static, type TObject } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { SETTINGS, type SettingsValue } from '../../settings/schema.ts'
import { OrNull, Text, Time } from '../../core/schemas.ts'
import type { KeyCard, RsaKeyCard } from '../../signing/signer.ts'

const CARD = {
  fingerprint: Type.String(),
  user_id: Type.String(),
  algorithm: Type.String(),
  created_at: Type.String(),
  role: Type.String({ enum: ['current', 'previous'] }),
  retires_at: Type.Optional(Type.String()),
  expires_at: Type.Optional(Type.String()),
}
const FIRST = Type.Optional(Type.Boolean({ description: 'Refused where there is a signing key already.' }))
const OVERLAP = Type.Optional(Type.Integer({ minimum: 0, maximum: 3_650 }))
const Card = Type.Unsafe<KeyCard>(Type.Object(CARD))
/** The names that existing clients read. */
const GPG_NAMES = {
  type: Text,
  algo: Text,
  key_id: Text,
  created: Text,
  expires: OrNull(Text),
  uids: Type.Array(Text),
}
const Listed = Type.Unsafe<KeyCard & Static<TObject<typeof GPG_NAMES>>>(Type.Object({ ...CARD, ...GPG_NAMES }))
const ApkCard = Type.Unsafe<RsaKeyCard & { readonly public_key_url: string }>(
  Type.Object({
    key_name: Type.String(),
    public_key: Type.String(),
    algorithm: Type.String(),
    created_at: Type.String(),
    role: Type.String({ enum: ['current', 'previous'] }),
    retires_at: Type.Optional(Type.String()),
    public_key_url: Type.String(),
  }),
)
const Form = Type.Unsafe<'armored' | 'binary'>(Type.Union([Type.Literal('armored'), Type.Literal('binary')]))
const KeyType = Type.Unsafe<'rsa4096' | 'ed25519Legacy'>(
  Type.Union([Type.Literal('rsa4096'), Type.Literal('ed25519Legacy')]),
)
const Whole = Type.Unsafe<SettingsValue>(SETTINGS)

/** The runtime configuration and the signing keys. */
export const settings = contract({
  'GET /settings/': { summary: 'Shows all settings; secrets as ***.', access: 'admin', reply: Whole },
  'PATCH /settings/': {
    summary: 'Changes the given settings and leaves the rest. *** leaves a secret unchanged.',
    leader: true,
    access: 'admin',
    details:
      'With `confirm=false` a change that makes the policy contradict itself (medium: block, high: review) is refused until it is sent with `confirm=true`. Without `confirm` it is saved, and `warnings` of GET /security/policy name it.',
    query: Type.Object({ confirm: Type.Optional(Type.Boolean()) }),
    // checked by the settings themselves: they name the dotted key, and take the flat keys of older clients
    body: Type.Record(Type.String(), Type.Unknown()),
    reply: Whole,
    fails: [
      'unknown_setting',
      'bad_setting',
      'setting_not_available',
      'bad_license',
      'enterprise_only',
      'policy_contradiction',
    ],
  },
  'GET /settings/schema': {
    summary: 'Answers the JSON Schema of the settings: defaults, bounds, units and meaning.',
    access: 'admin',
    reply: Type.Object({}, { additionalProperties: true }),
  },
  'GET /settings/gpg': {
    summary: 'Lists the signing keys in use.',
    access: 'admin',
    reply: Type.Object({
      configured: Type.Boolean(),
      fingerprint: Type.Union([Type.String(), Type.Null()]),
      keys: Type.Array(Listed),
      public_key_url: Type.String(),
      public_key_armored: OrNull(Text),
      apk_keys: Type.Array(ApkCard),
    }),
  },
  'POST /settings/gpg/generate': {
    summary: 'Generates a signing key. The key before signs beside it for the overlap.',
    leader: true,
    access: 'admin',
    status: 201,
    limit: { bucket: 'gpg', perMinute: 5 },
    body: Type.Object({
      type: Type.Optional(KeyType),
      name: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          pattern: '^[^<>()\\u0000-\\u001f]*$',
          rule: 'text of 1 to 100 characters on one line without <, >, ( and )',
        }),
      ),
      email: Type.Optional(
        Type.String({
          maxLength: 254,
          pattern: '^[^\\s<>@]+@[^\\s<>@]+\\.[A-Za-z0-9-]+$',
          rule: 'an address such as repository@example.org',
        }),
      ),
      overlap_days: OVERLAP,
      first: FIRST,
    }),
    reply: Card,
    fails: ['signing_key_exists'],
  },
  'POST /settings/gpg/import': {
    summary: 'Takes in a private signing key. The key before signs beside it for the overlap.',
    details:
      'What cannot sign for every client is refused: only public, expired, revoked, without that usage, weak. It is kept as the keys that are made here are; the text and its passphrase are not, and no answer, log or error has them.',
    leader: true,
    access: 'admin',
    status: 201,
    limit: { bucket: 'gpg_import', perMinute: 20 },
    body: Type.Object({
      private_key: Type.String({ minLength: 1, maxLength: 200_000, description: 'Armoured, as gpg writes it.' }),
      passphrase: Type.Optional(Type.String({ maxLength: 1_000 })),
      overlap_days: OVERLAP,
      first: FIRST,
    }),
    reply: Card,
    fails: [
      'signing_key_exists',
      'signing_key_unreadable',
      'signing_key_several',
      'signing_key_public',
      'signing_key_locked',
      'signing_key_passphrase',
      'signing_key_revoked',
      'signing_key_expired',
      'signing_key_of_tomorrow',
      'signing_key_cannot_sign',
      'signing_key_weak',
    ],
  },
  'POST /settings/gpg/export': {
    summary: 'Writes the public signing keys where clients fetch them, and says where that is.',
    leader: true,
    access: 'admin',
    limit: { bucket: 'gpg', perMinute: 5 },
    reply: Type.Object({
      status: Text,
      path: Text,
      url_path: Text,
      url: Text,
      message: Text,
    }),
    fails: ['no_signing_key'],
  },
  'GET /settings/next-sync': {
    summary: 'Shows when the clock synchronises import sources next.',
    access: 'admin',
    reply: Type.Object({
      next_run: OrNull(Time),
      status: Type.String({ enum: ['scheduled', 'paused'] }),
      job: Text,
      message: Text,
    }),
  },
  'GET /settings/gpg/export': {
    summary: 'Answers the public signing keys, for clients.',
    access: 'admin',
    query: Type.Object({ form: Type.Optional(Form) }),
    reply: 'file',
    types: ['application/pgp-keys'],
    fails: ['no_signing_key'],
  },
})
