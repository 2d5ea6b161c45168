import type { Handlers } from '../../core/contract.ts'
import { isRefusal } from '../../core/errors.ts'
import { policyOf } from '../../pipeline/subject.ts'
import type { security } from './contract.ts'
import type { SecurityDeps } from './deps.ts'
import { policyView } from '../../review/policy-view.ts'
import { previewPolicy } from './policy-preview.ts'

type Rules =
  | 'GET /security/policy'
  | 'PATCH /security/policy'
  | 'POST /security/policy/preview'
  | 'GET /security/clamav/status'
  | 'POST /security/clamav/update'

const PER_PAGE = 50
const HOUR_MS = 3_600_000

/** The handlers of the rules and of the antivirus engine. */
export const ruleHandlers: Pick<Handlers<typeof security, SecurityDeps>, Rules> = {
  'GET /security/policy': ({ settings }) => policyView(settings.now()),
  'PATCH /security/policy': async ({ settings, audit }, { body, who, raw }) => {
    const { changed } = await settings.patch({ cve_policy: body })
    const values = Object.fromEntries(
      changed.map(key => [key, String(body[key.slice('cve_policy.'.length) as keyof typeof body])]),
    )
    await audit.record({
      action: 'SETTINGS_CHANGE',
      result: 'SUCCESS',
      user: who.name,
      facts: { kind: 'policy.changed', values },
      ip: raw.clientIp,
    })
    return policyView(settings.now())
  },
  'POST /security/policy/preview': async ({ db, settings }, { body, query, raw }) => {
    const now = settings.now()
    const wanted = { ...now, cve_policy: { ...now.cve_policy, ...body } }
    const preview = await previewPolicy(
      db,
      policyOf(wanted),
      { page: query.page ?? 1, perPage: query.per_page ?? PER_PAGE },
      raw.signal,
    )
    return { policy: policyView(wanted), ...preview }
  },
  'GET /security/clamav/status': async ({ antivirus, settings, signatures, clock }) => {
    const { ok, version, signatures_version, signatures_at, error } = await antivirus.status()
    const ageMs = signatures_at === undefined ? undefined : clock.now().getTime() - Date.parse(signatures_at)
    return {
      ok,
      enabled: settings.now().validation.clamav_scan,
      engine: antivirus.id,
      version: version ?? null,
      signatures_version: signatures_version ?? null,
      signatures_at: signatures_at ?? null,
      ...(error === undefined ? {} : { error }),
      signatures_age_hours: ageMs === undefined ? null : Math.max(0, Math.floor(ageMs / HOUR_MS)),
      databases: [...(await signatures.files())],
    }
  },
  'POST /security/clamav/update': async ({ antivirus, signatures, audit }, { who, raw }) => {
    const base = { action: 'CLAMAV_UPDATE', user: who.name, ip: raw.clientIp } as const
    try {
      const { status, source, files, said } = await signatures.update()
      const reload = await signatures.reload()
      await audit.record({
        ...base,
        result: reload === 'failed' ? 'WARNING' : 'SUCCESS',
        facts: { kind: 'signatures.updated', status, source, files: files.length, reload },
      })
      const { signatures_version, signatures_at } = await antivirus.status()
      return {
        status,
        source,
        databases: [...files],
        said: [...said],
        reload,
        signatures_version: signatures_version ?? files[0]?.version ?? null,
        signatures_at: signatures_at ?? files[0]?.built_at ?? null,
      }
    } catch (error) {
      if (isRefusal(error))
        await audit.record({ ...base, result: 'FAILURE', facts: { kind: 'signatures.refused', why: error.message } })
      throw error
    }
  },
}
