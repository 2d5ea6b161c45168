import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { Text, Time } from '../../core/schemas.ts'

const Check = Type.Object({ ok: Type.Boolean(), detail: Text })

/** The first admin. Closed for ever once there is one. */
export const setup = contract({
  'GET /setup/status': {
    summary: 'Shows whether the first admin is still to be created, and whether that needs the setup token.',
    access: 'public',
    reply: Type.Object({
      admin_exists: Type.Boolean(),
      setup_done: Type.Boolean(),
      needs_setup: Type.Boolean(),
      token_required: Type.Boolean(),
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
