import { pagingOf } from '../../catalog/page.ts'
import type { Handlers } from '../../core/contract.ts'
import { policyOf } from '../../core/policy.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import { policyView } from '../../review/policy-view.ts'
import type { Settings } from '../../settings/store.ts'
import type { policy } from './contract.ts'
import { previewPolicy } from './preview.ts'

export interface PolicyDeps {
  readonly db: Db
  readonly settings: Pick<Settings, 'now' | 'patch'>
  readonly audit: Pick<Audit, 'record'>
}

export const policyHandlers: Handlers<typeof policy, PolicyDeps> = {
  'GET /security/policy': ({ settings }) => policyView(settings.now()),
  'PATCH /security/policy': async ({ settings, audit }, { body, who, raw }) => {
    const { changed } = await settings.patch({ cve_policy: body })
    const values = Object.fromEntries(
      changed.map(key => [key, String(body[key.slice('cve_policy.'.length) as keyof typeof body])]),
    )
    if (changed.length > 0)
      await audit.record({
        action: 'SETTINGS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        facts: { kind: 'policy.changed', values },
        ip: raw.clientIp,
      })
    return policyView(settings.now())
  },
  'POST /security/policy/preview': async ({ db, settings }, { body, query, viewer, raw }) => {
    const now = settings.now()
    const wanted = { ...now, cve_policy: { ...now.cve_policy, ...body } }
    const preview = await previewPolicy(db, viewer, {
      policy: policyOf(wanted),
      paging: pagingOf(query),
      signal: raw.signal,
    })
    return { policy: policyView(wanted), ...preview }
  },
}
