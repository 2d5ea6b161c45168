import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { SEVERITIES } from '../core/findings.ts'
import { STATES } from '../core/manifest.ts'

/** The nine metrics of the specification, "Health and metrics". Gauges over the database are read at each scrape. */
export interface Metrics {
  uploaded(status: string): void
  found(severity: string, count: number): void
  request(method: string, path: string, status: number, seconds: number): void
  /** Gauges are functions, called at each scrape. */
  gauge(
    name:
      | 'svc_packages_total'
      | 'svc_pending_review_total'
      | 'svc_quarantine_total'
      | 'svc_clamav_last_update'
      | 'svc_grype_db_age_seconds',
    read: () => number | Promise<number>,
  ): void
  /** The text format, version 0.0.4. */
  text(): Promise<string>
}

const GAUGES = {
  svc_packages_total: 'Packages in the pool: published ones and those that wait for a decision.',
  svc_pending_review_total: 'Packages that wait for a decision.',
  svc_quarantine_total: 'Packages in quarantine.',
  svc_clamav_last_update: 'When the antivirus signatures were made, in seconds since 1970.',
  svc_grype_db_age_seconds: 'Age of the vulnerability data in seconds.',
} as const

/**
 * The registry behind `GET /metrics`. Counters start at 0 with the process. A gauge whose source does not answer is
 * left out of that scrape: no value is better than an old one.
 */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const uploads = new Counter({
    name: 'svc_uploads_total',
    help: 'Uploads by what became of them.',
    labelNames: ['status'] as const,
    registers,
  })
  const findings = new Counter({
    name: 'svc_cve_findings_total',
    help: 'Vulnerabilities found by scans, by severity.',
    labelNames: ['severity'] as const,
    registers,
  })
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests by route template.',
    labelNames: ['method', 'path', 'status'] as const,
    registers,
  })
  // no labels: the specification gives none, and a label per route would be 16 series per route
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    registers,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  })
  // a series that exists from the start can be used in `rate()` and in alerts
  for (const status of STATES) uploads.inc({ status }, 0)
  for (const severity of SEVERITIES) findings.inc({ severity }, 0)

  return {
    uploaded: status => uploads.inc({ status }),
    found: (severity, count) => findings.inc({ severity }, count),
    request: (method, path, status, seconds) => {
      requests.inc({ method, path, status: String(status) })
      durations.observe(seconds)
    },
    gauge: (name, read) => {
      const gauge = new Gauge({
        name,
        help: GAUGES[name],
        registers,
        collect: async () => {
          try {
            const value = await read()
            if (Number.isFinite(value)) gauge.set(value)
            else gauge.remove()
          } catch {
            gauge.remove() // the health report says what is wrong; the scrape answers with the rest
          }
        },
      })
    },
    text: () => registry.metrics(),
  }
}
