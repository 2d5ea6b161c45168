import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { HealthReport, ReadyReport } from './health.ts'
import { OrNull, Time } from '../../core/schemas.ts'

const Probe = Type.Object({
  ok: Type.Boolean(),
  error: Type.Optional(Type.String()),
  effect: Type.Optional(Type.String({ description: 'What it means for the users, where it is not well.' })),
  remedy: Type.Optional(Type.String({ description: 'The way out, where it is not well.' })),
})
const Mb = Type.Integer({ description: 'MB of 1024² bytes.' })
const Gb = OrNull(Type.Number({ description: 'GB of 1024³ bytes.' }))
const Host = Type.Object(
  {
    ok: Type.Boolean(),
    collected_at: Time,
    uptime_seconds: Type.Integer(),
    cores: Type.Integer(),
    load: Type.Object({ one: Type.Number(), five: Type.Number(), fifteen: Type.Number(), per_core: Type.Number() }),
    memory: OrNull(Type.Object({ total_mb: Mb, available_mb: Mb, used_pct: Type.Number(), limit_mb: OrNull(Mb) })),
    swap: OrNull(Type.Object({ total_mb: Mb, used_mb: Mb })),
    disks: Type.Array(
      Type.Object({
        holds: Type.Array(Type.String({ enum: ['packages', 'database', 'logs'] })),
        free_gb: Gb,
        total_gb: Gb,
        used_pct: OrNull(Type.Number()),
        why: Type.Optional(Type.String()),
      }),
    ),
    temperature_c: OrNull(Type.Number()),
    unknown: Type.Record(Type.String(), Type.String()),
  },
  { description: 'The machine of this process, looked at every minute. For auditors, maintainers and admins.' },
)
const ClockFacts = Type.Object(
  {
    ok: Type.Boolean(),
    database_ahead_ms: OrNull(Type.Integer()),
  },
  {
    description:
      'How far the database is ahead of this process; null until it has answered. For those who see the host.',
  },
)
const Forecasted = Type.Object(
  {
    days_until_full: OrNull(Type.Integer()),
    days_until_uploads_stop: OrNull(Type.Integer()),
    bytes_per_day: OrNull(Type.Integer()),
    samples: Type.Integer(),
    since: OrNull(Time),
    why: OrNull(Type.String()),
  },
  { description: 'When the disk will be full, from the last 14 days. For auditors, maintainers and admins.' },
)
const Reserve = Type.Object(
  {
    state: Type.String({ enum: ['none', 'kept', 'missing'] }),
    wanted_mb: Mb,
    kept_mb: Mb,
    given_back_at: OrNull(Time),
    given_back_by: OrNull(Type.String()),
    why: OrNull(Type.String()),
  },
  { description: 'The file that is given back when the disk is full. For auditors, maintainers and admins.' },
)
const Critical = Type.Object({ manifests: Probe, pool: Probe, auth_db: Probe, manifest_db: Probe })

/** Whether the service is well, for load balancers and people, and its metrics. Public, at the root. */
export const health = contract({
  'GET /health': {
    summary: 'Shows the health report. 503 if a critical check fails.',
    access: 'public',
    root: true,
    early: true,
    otherwise: [503],
    reply: Type.Unsafe<HealthReport>(
      Type.Object({
        status: Type.String({ enum: ['healthy', 'degraded', 'unhealthy'] }),
        timestamp: Time,
        version: Type.String(),
        uptime_seconds: Type.Integer(),
        checks: Type.Object({
          critical: Critical,
          non_critical: Type.Record(Type.String(), Probe),
          info: Type.Object({
            host: Type.Optional(Host),
            clock: Type.Optional(ClockFacts),
            forecast: Type.Optional(Forecasted),
            reserve: Type.Optional(Reserve),
          }),
        }),
      }),
    ),
  },
  'GET /health/live': {
    summary: 'Answers while the process runs. Checks nothing else.',
    access: 'public',
    root: true,
    early: 'always',
    reply: Type.Object({ alive: Type.Literal(true), status: Type.Literal('ok'), timestamp: Time }),
  },
  'GET /health/ready': {
    summary:
      'Answers whether requests can be served: the start has ended, folders and database answer. 503 if not, and how far a start is.',
    access: 'public',
    root: true,
    early: true,
    otherwise: [503],
    reply: Type.Unsafe<ReadyReport>(
      Type.Object({
        ready: Type.Boolean(),
        status: Type.String({ enum: ['ok', 'not_ready'] }),
        timestamp: Time,
        checks: Critical,
        failing: Type.Optional(Type.Array(Type.String())),
        starting: Type.Optional(
          Type.Object({
            doing: Type.String(),
            done: Type.Optional(Type.Integer()),
            of: Type.Optional(Type.Integer()),
          }),
        ),
      }),
    ),
  },
  'GET /metrics': {
    summary:
      'Answers metrics in the Prometheus text format 0.0.4. If METRICS_TOKEN is set, send it as the bearer token.',
    access: 'public',
    root: true,
    early: true,
    // not 'text': the format's version is part of its content type
    reply: 'file',
    types: ['text/plain'],
    fails: ['not_authenticated', 'bad_credential'],
  },
})
