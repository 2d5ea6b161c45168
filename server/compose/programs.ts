import { join } from 'node:path'
import type { Env } from '../env.ts'
import { runTool } from '../lib/exec.ts'
import type { ExternalDeps } from '../scanners/external.ts'
import type { Foundation } from './foundation.ts'

/**
 * What grype and trivy are given: where they are looked for, where their data lie, and what an admin set about them.
 */
export function composePrograms(
  env: Env,
  { layout, settings, clock }: Foundation,
): { readonly grype: ExternalDeps; readonly trivy: ExternalDeps } {
  const depsOf = (id: 'grype' | 'trivy'): ExternalDeps => ({
    exec: runTool,
    searchPath: env.searchPath,
    clock,
    databaseFolder: join(layout.security, `${id}-db`),
    workFolder: layout.incoming,
    enabled: () => settings.now().engines[id],
    pin: () => settings.now().engines[`${id}_sha256`],
    maxAgeDays: () => settings.now().validation.vuln_data_max_age_days,
  })
  return { grype: depsOf('grype'), trivy: depsOf('trivy') }
}
