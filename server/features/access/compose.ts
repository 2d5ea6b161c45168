import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Clock } from '../../lib/clock.ts'
import { access } from './contract.ts'
import { accessHandlers, type AccessDeps } from './handlers.ts'
import { createAccessRules, type AccessRules } from './rules.ts'

/** Who may see which distribution; `rules` is for those who serve. */
export function composeAccess({
  db,
  audit,
  clock,
  repositories,
}: Pick<AccessDeps, 'db' | 'audit' | 'repositories'> & { readonly clock: Clock }): Feature & {
  readonly rules: AccessRules
} {
  const rules = createAccessRules({ db, clock })
  return { rules, routes: bind(access, accessHandlers, { db, audit, rules, repositories }) }
}
