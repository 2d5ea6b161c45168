import type { Audit } from '../record/audit.ts'
import type { Patched } from './store.ts'

/** Writes a change of settings to the audit log; nothing where no value changed. */
export async function recordChange(
  audit: Pick<Audit, 'record'>,
  { changed, changes }: Patched,
  { user, ip }: { readonly user: string; readonly ip: string },
): Promise<void> {
  if (changed.length === 0) return
  await audit.record({
    action: 'SETTINGS_CHANGE',
    result: 'SUCCESS',
    user,
    facts: { kind: 'settings.changed', keys: changed, changes },
    ip,
  })
}
