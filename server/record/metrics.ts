import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { SEVERITIES } from '../core/findings.ts'
import type { Codename } from '../core/identity.ts'
import { STATES } from '../core/manifest.ts'
import { ALL_SEEING, maySee, type Viewer } from '../core/viewer.ts'

/** The nine metrics of the specification, "Health and metrics". Gauges over the database are read at each scrape. */
export interface Metrics {
  uploaded(status: string, codename: Codename): void
  found(severity: string, count: number, codename: Codename): void
  /**
   * The viewer of the counters about packages, asked at each scrape. While it throws they are left out: a counter that
   * falls to 0 and comes back would look like new uploads. Until somebody is named they show everything.
   */
  showTo(viewer: () => Promise<Viewer>): void
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

type Count = (codename: Codename, value: string, by: number) => void

/** A counter with one label, kept for each distribution and added up over those that the viewer sees. */
function countPerDistribution(
  {
    name,
    help,
    label,
    always,
  }: { readonly name: string; readonly help: string; readonly label: string; readonly always: readonly string[] },
  { registers, seen }: { readonly registers: Registry[]; readonly seen: () => Promise<Viewer> },
): Count {
  const counts = new Map<Codename, Map<string, number>>()
  new Counter({
    name,
    help,
    labelNames: [label],
    registers,
    async collect() {
      const viewer = await seen().catch(() => undefined)
      this.reset()
      if (viewer === undefined) return
      // a series that exists from the start can be used in `rate()` and in alerts
      for (const value of always) this.inc({ [label]: value }, 0)
      for (const [codename, values] of counts)
        if (maySee(viewer, codename)) for (const [value, n] of values) this.inc({ [label]: value }, n)
    },
  })
  return (codename, value, by) => {
    const values = counts.get(codename) ?? new Map<string, number>()
    counts.set(codename, values.set(value, (values.get(value) ?? 0) + by))
  }
}

/**
 * The registry behind `GET /metrics`. Counters start at 0 with the process. A gauge whose source does not answer is
 * left out of that scrape: no value is better than an old one.
 */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  let viewer = (): Promise<Viewer> => Promise.resolve(ALL_SEEING)
  const seen = () => viewer()
  const uploads = countPerDistribution(
    { name: 'svc_uploads_total', help: 'Uploads by what became of them.', label: 'status', always: STATES },
    { registers, seen },
  )
  const findings = countPerDistribution(
    {
      name: 'svc_cve_findings_total',
      help: 'Vulnerabilities found by scans, by severity.',
      label: 'severity',
      always: SEVERITIES,
    },
    { registers, seen },
  )
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

  return {
    uploaded: (status, codename) => uploads(codename, status, 1),
    found: (severity, count, codename) => findings(codename, severity, count),
    showTo: to => {
      viewer = to
    },
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
