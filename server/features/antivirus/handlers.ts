import type { Handlers } from '../../core/contract.ts'
import { isRefusal } from '../../core/errors.ts'
import { antivirusSilence, switchedOff, whileUnavailable } from '../../core/policy.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import type { AntivirusScanner, EngineStatus } from '../../scanners/scanner.ts'
import type { Settings } from '../../settings/store.ts'
import type { antivirus as rows } from './contract.ts'
import { takeFromMedium, type FromMediumDeps } from './from-medium.ts'
import type { Signatures } from './signatures.ts'

export interface AntivirusDeps extends FromMediumDeps {
  readonly settings: Pick<Settings, 'now'>
  readonly audit: Pick<Audit, 'record'>
  readonly clock: Clock
  readonly antivirus: Pick<AntivirusScanner, 'id' | 'status'>
  readonly signatures: Signatures
}

const HOUR_MS = 3_600_000

/** What Health says of the engine, and why in the engine's own words. */
function warningOf({ ok, silence, error }: EngineStatus, isOn: boolean, meanwhile: string): string | null {
  if (!isOn) return switchedOff('antivirus scan')
  if (ok) return null
  const said = silence === 'no_answer' ? [antivirusSilence(silence), error] : [error]
  return [...said, meanwhile].filter(one => one !== undefined).join(' ')
}

export const antivirusHandlers: Handlers<typeof rows, AntivirusDeps> = {
  'GET /security/clamav/status': async ({ antivirus, settings, signatures, clock }) => {
    const status = await antivirus.status()
    const { ok, version, signatures_version, signatures_at, error } = status
    const { validation } = settings.now()
    const meanwhile = whileUnavailable(validation, validation.clamav_scan)
    const ageMs = signatures_at === undefined ? undefined : clock.now().getTime() - Date.parse(signatures_at)
    const databases = [...(await signatures.files())]
    return {
      ok,
      enabled: validation.clamav_scan,
      when_unavailable: meanwhile,
      warning: warningOf(status, validation.clamav_scan, meanwhile.said),
      engine: antivirus.id,
      version: version ?? null,
      signatures_version: signatures_version ?? null,
      signatures_at: signatures_at ?? null,
      ...(error === undefined ? {} : { error }),
      signatures_age_hours: ageMs === undefined ? null : Math.max(0, Math.floor(ageMs / HOUR_MS)),
      databases,
      // what existing clients of this kind of service read
      available: ok,
      daemon_running: ok,
      db_version: signatures_version ?? null,
      db_date: signatures_at ?? null,
      db_files: databases.map(({ file }) => file),
      cooldown_until: signatures.coolDown(clock.now()) ?? null,
    }
  },
  'POST /security/clamav/medium': async (deps, { body, who, raw }) => {
    const base = { action: 'CLAMAV_UPDATE', user: who.name, ip: raw.clientIp } as const
    const { medium, path } = body
    try {
      const which = { medium, ...(path === undefined ? {} : { path }) }
      const { updated, left, label } = await takeFromMedium(deps, which, raw.signal)
      const status = updated?.status ?? 'current'
      const files = updated?.files ?? []
      await deps.audit.record({
        ...base,
        result: 'SUCCESS',
        facts: { kind: 'signatures.taken', status, medium: label, files: files.length },
      })
      return { status, databases: [...(await deps.signatures.files())], said: [...left, ...(updated?.said ?? [])] }
    } catch (error) {
      if (isRefusal(error))
        await deps.audit.record({
          ...base,
          result: 'FAILURE',
          facts: { kind: 'signatures.refused', why: error.message },
        })
      throw error
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
