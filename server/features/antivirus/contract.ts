import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { MeanwhileSchema, OrNull, Text, Time } from '../../core/schemas.ts'
import { MEDIUM_FAILS, OnMedium } from '../../machine/protocol.ts'

const SignatureFiles = Type.Array(
  Type.Object({ file: Text, version: OrNull(Text), signatures: OrNull(Type.Integer()), built_at: Time }),
)

/** The engine that looks for malware, and its signatures. */
export const antivirus = contract({
  'GET /security/clamav/status': {
    summary: 'Shows whether the antivirus engine answers, and the age of its signatures.',
    access: 'any',
    reply: Type.Object({
      ok: Type.Boolean(),
      enabled: Type.Boolean(),
      when_unavailable: MeanwhileSchema,
      warning: OrNull(Type.String()),
      engine: Type.String(),
      version: OrNull(Text),
      signatures_version: OrNull(Text),
      signatures_at: OrNull(Text),
      error: Type.Optional(Type.String()),
      signatures_age_hours: OrNull(Type.Integer()),
      databases: SignatureFiles,
      available: Type.Boolean(),
      daemon_running: Type.Boolean(),
      db_version: OrNull(Text),
      db_date: OrNull(Text),
      db_files: Type.Array(Text),
      cooldown_until: OrNull(Time),
    }),
  },
  'POST /security/clamav/medium': {
    summary: 'Takes antivirus signatures from a stick in the machine: all that were found on it, or one file.',
    details:
      'They are tested before they are put in place. Files that are older than those here are left out, and `said` names them.',
    access: 'admin',
    body: Type.Object({ medium: OnMedium.medium, path: Type.Optional(OnMedium.path) }, { additionalProperties: false }),
    fails: [...MEDIUM_FAILS, 'signatures_not_updated', 'engine_unavailable', 'storage_full'],
    reply: Type.Object({
      status: Type.String({ enum: ['updated', 'current'] }),
      databases: SignatureFiles,
      said: Type.Array(Text),
    }),
  },
  'POST /security/clamav/update': {
    summary: 'Updates the antivirus signatures with freshclam and loads them into the engine, which goes on scanning.',
    access: 'admin',
    fails: ['signatures_not_updated', 'engine_unavailable'],
    reply: Type.Object({
      status: Type.String({ enum: ['updated', 'current'] }),
      source: Type.String({ enum: ['mirror', 'private_mirror', 'bundle_folder'] }),
      databases: SignatureFiles,
      said: Type.Array(Text),
      /**
       * `started`: the engine reads the new files beside the old ones. `failed` and `not_configured`: it goes on with
       * the old ones.
       */
      reload: Type.String({ enum: ['started', 'failed', 'not_configured'] }),
      signatures_version: OrNull(Text),
      signatures_at: OrNull(Time),
    }),
  },
})
