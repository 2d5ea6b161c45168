import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { HealthReport, ReadyReport } from './health.ts'
import { Time } from '../../core/schemas.ts'

const Probe = Type.Object({ ok: Type.Boolean(), error: Type.Optional(Type.String()) })
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
          info: Type.Object({}),
        }),
      }),
    ),
  },
  'GET /health/live': {
    summary: 'Answers while the process runs. Checks nothing else.',
    access: 'public',
    root: true,
    early: true,
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
