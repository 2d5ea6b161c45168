import { pagingOf } from '../../catalog/page.ts'
import type { Handlers } from '../../core/contract.ts'
import { contradictionsOf, contradictionWarnings, refuseContradiction } from '../../core/contradictions.ts'
import { fail } from '../../core/errors.ts'
import { complainForbidden } from '../../core/licences/forbidden.ts'
import { policyOf } from '../../core/policy.ts'
import type { Codename } from '../../core/identity.ts'
import type { Jobs } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import { policyView, type Policy } from '../../review/policy-view.ts'
import { RESCAN, type RescanRequest } from '../../review/rescan-request.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import type { Settings } from '../../settings/store.ts'
import type { policy } from './contract.ts'
import { previewPolicy } from './preview.ts'

export interface PolicyDeps {
  readonly db: Db
  readonly settings: Pick<Settings, 'now' | 'patch'>
  readonly audit: Pick<Audit, 'record'>
  readonly worker: Pick<Jobs, 'ask'>
}

/** So many packages are scanned again in one job. */
const MOST = 500

const warnedView = (now: SettingsValue): Policy & { readonly warnings: string[] } => ({
  ...policyView(now),
  warnings: contradictionWarnings(now.cve_policy),
})

export const policyHandlers: Handlers<typeof policy, PolicyDeps> = {
  'GET /security/policy': ({ settings }) => warnedView(settings.now()),
  'PATCH /security/policy': async ({ settings, audit }, { body: { warnings: _, ...body }, query, who, raw }) => {
    const { changed, changes } = await settings.patch(
      { cve_policy: body },
      query.confirm === false ? (next, before) => refuseContradiction(next.cve_policy, before.cve_policy) : undefined,
    )
    const values = Object.fromEntries(
      changed.map(key => [key, String(body[key.slice('cve_policy.'.length) as keyof typeof body])]),
    )
    if (changed.length > 0)
      await audit.record({
        action: 'SETTINGS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        facts: {
          kind: 'policy.changed',
          values,
          before: Object.fromEntries(changes.map(({ key, from }) => [key, from])),
        },
        ip: raw.clientIp,
      })
    return warnedView(settings.now())
  },
  'POST /security/policy/rescan': async ({ db, settings, worker }, { who, viewer, raw }) => {
    const { items, total } = await previewPolicy(db, viewer, {
      policy: policyOf(settings.now()),
      paging: { page: 1, perPage: MOST },
      signal: raw.signal,
    })
    const refs = items.map(({ name, version, arch, distribution, format }) => ({
      ...{ format, name, version, arch },
      codename: distribution as Codename,
    }))
    const packages = refs.length
    const left = total - packages
    if (packages === 0)
      return { job_id: null, packages, left, message: 'No package would move: nothing is to be scanned.' }
    const request: RescanRequest = { refs, viewer, ip: raw.clientIp }
    const { id } = await worker.ask({
      kind: RESCAN,
      target: 'policy',
      request: { ...request },
      codenames: [...new Set(refs.map(({ codename }) => codename))],
      by: who.name,
    })
    return { job_id: id, packages, left, message: 'The job has begun. Each package moves when it was scanned.' }
  },
  'POST /security/policy/preview': async ({ db, settings }, { body, query, viewer, raw }) => {
    const now = settings.now()
    const { warnings: _, license_policy: licences = {}, ...cves } = body
    const why = complainForbidden(licences.forbidden ?? '')
    if (why !== undefined) fail('bad_setting', { key: 'license_policy.forbidden', why })
    const wanted = {
      ...now,
      cve_policy: { ...now.cve_policy, ...cves },
      license_policy: { ...now.license_policy, ...licences },
    }
    const preview = await previewPolicy(db, viewer, {
      policy: policyOf(wanted),
      paging: pagingOf(query),
      signal: raw.signal,
    })
    return { policy: policyView(wanted), contradictions: contradictionsOf(wanted.cve_policy), ...preview }
  },
}
