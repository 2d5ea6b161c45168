import type { Action } from '../core/policy.ts'

/** Placeholder type until the schema below derives it. */
export type SettingsValue = {
  readonly validation: { readonly max_upload_size_mb: number; readonly clamav_scan: boolean; readonly sha256_check: boolean; readonly grype_scan: boolean; readonly on_scanner_unavailable: 'hold' | 'warn' }
  readonly cve_policy: Record<'critical' | 'high' | 'medium' | 'low' | 'negligible', Action>
}
