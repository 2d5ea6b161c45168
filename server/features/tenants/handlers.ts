import { needBearer } from '../../core/bearer.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Queryable } from '../../db/db.ts'
import type { Licensing } from '../../settings/licensing.ts'
import type { Settings } from '../../settings/store.ts'
import type { tenants } from './contract.ts'
import { readSize } from './store.ts'

export interface TenantDeps {
  readonly db: Queryable
  readonly licensing: Pick<Licensing, 'card'>
  readonly settings: Pick<Settings, 'now'>
  readonly version: string
  /** INTERNAL_TOKEN. */
  readonly internalToken: string | undefined
}

export const tenantHandlers: Handlers<typeof tenants, TenantDeps> = {
  'GET /internal/tenants': async ({ db, licensing, settings, version, internalToken }, { raw }) => {
    if (internalToken === undefined || internalToken === '') fail('not_found', { path: '/internal/tenants' })
    needBearer(internalToken, raw.headers.authorization)
    const { issued_to, edition } = licensing.card()
    const tenant = { issued_to, edition, app_url: settings.now().app_url, version, ...(await readSize(db)) }
    return { tenants: [tenant], total: 1 }
  },
}
