/** The nine metrics of the specification, "Health and metrics". Gauges over the database are read when scraped. */
export interface Metrics {
  uploaded(status: string): void
  found(severity: string, count: number): void
  request(method: string, path: string, status: number, seconds: number): void
  /** Gauges are given as functions, asked at each scrape. */
  gauge(name: 'svc_packages_total' | 'svc_pending_review_total' | 'svc_quarantine_total' | 'svc_clamav_last_update' | 'svc_grype_db_age_seconds', read: () => number | Promise<number>): void
  /** The text format, version 0.0.4. */
  text(): Promise<string>
}
