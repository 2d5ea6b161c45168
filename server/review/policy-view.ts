import type { SettingsValue } from '../settings/schema.ts'

/** The settings that decide about packages with findings. */
export type Policy = Omit<
  SettingsValue['cve_policy'],
  'sla_critical_days' | 'sla_high_days' | 'sla_medium_days' | 'auto_enrich'
>

/** The policy from the settings. */
export function policyView({ cve_policy }: Pick<SettingsValue, 'cve_policy'>): Policy {
  const { sla_critical_days: _, sla_high_days: __, sla_medium_days: ___, auto_enrich: ____, ...policy } = cve_policy
  return policy
}
