import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { APPLIANCE_COLOURS } from '../../settings/setting-types.ts'

const Check = Type.Object({ ok: Type.Boolean(), detail: Text })

/** The first admin. Closed for ever once there is one. */
export const setup = contract({
  'GET /setup/status': {
    summary:
      'Shows whether the first admin is still to be created, whether that needs the setup token, and which server this is.',
    access: 'public',
    reply: Type.Object({
      admin_exists: Type.Boolean(),
      setup_done: Type.Boolean(),
      needs_setup: Type.Boolean(),
      token_required: Type.Boolean(),
      appliance: Type.Object(
        { name: Type.String(), environment: Type.String(), colour: listed(APPLIANCE_COLOURS) },
        { description: 'From the settings; an empty name means that of the address.' },
      ),
      checked_at: Time,
    }),
  },
  'GET /setup/preflight': {
    summary: 'Looks at what the service needs, before the first admin is made; afterwards GET /health says more.',
    access: 'public',
    limit: { bucket: 'setup', perMinute: 60 },
    reply: Type.Object({
      checks: Type.Object({
        database: Check,
        disk_space: Check,
        clamav: Check,
        grype: Check,
        secrets: Check,
        tls: Check,
      }),
      ready: Type.Boolean({ description: 'Database, disk and secrets are as they must be. The others are advice.' }),
    }),
    fails: ['admin_exists'],
  },
  'POST /setup/address': {
    summary: 'Looks whether this service answers at an address that clients are to use, as seen from this machine.',
    details:
      'It calls `/api/v1/setup/status` there and watches whether the call arrives. Nothing is saved: `app_url` of the settings keeps the address.',
    access: 'admin',
    limit: { bucket: 'setup', perMinute: 60 },
    body: Type.Object({
      url: Type.String({
        maxLength: 300,
        pattern: '^https?://[^\\s/?#@]+(/[^\\s?#@]*[^\\s/?#@])?$',
        rule: 'an address such as https://packages.example.org, without a slash at its end',
      }),
    }),
    reply: Type.Object({
      answers: listed(['this', 'another', 'nobody']),
      local: Type.Boolean({ description: 'The host leads every machine to itself.' }),
      why: OrNull(Text),
    }),
    fails: ['bad_request'],
  },
  'GET /setup/clock': {
    summary: 'Shows the clock of this machine, and whether something keeps it right.',
    access: 'admin',
    limit: { bucket: 'setup', perMinute: 60 },
    reply: Type.Object({
      now: Time,
      synchronised: OrNull(Type.Boolean({ description: 'null: this machine cannot tell.' })),
      said_by: OrNull(Text),
    }),
  },
  'POST /setup/': {
    summary: 'Creates the first admin. Needs the header X-Setup-Token if the deployment sets one.',
    access: 'public',
    status: 201,
    limit: { bucket: 'setup', perMinute: 60 },
    body: Type.Object({
      admin_username: Type.String({
        pattern: '^[A-Za-z0-9_@][A-Za-z0-9._@-]{0,63}$',
        rule: '1 to 64 letters, digits, ., _, @ or -, and not first a . or -',
      }),
      admin_password: Type.String({
        maxLength: 1_000,
        description: 'At least 8 characters, an upper-case letter, and a digit or special character.',
      }),
    }),
    reply: Type.Object({
      message: Type.String(),
      username: Type.String(),
      role: Type.Literal('admin'),
      admin_exists: Type.Literal(true),
    }),
    fails: ['bad_setup_token', 'admin_exists', 'weak_password'],
  },
})
