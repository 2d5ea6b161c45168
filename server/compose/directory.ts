import { createLdapDirectory, type LdapDirectory } from '../directory/ldap.ts'
import type { Foundation } from './foundation.ts'

/**
 * The directory. Asked at logins only while the edition and its licence include it, also in the days of grace: a login
 * changes nothing.
 */
export function composeDirectory({ settings, licensing, log }: Foundation): LdapDirectory {
  const directory = createLdapDirectory({
    settings: () => settings.now().ldap,
    warn: (facts, message) => log.warn(facts, message),
  })
  return { ...directory, isEnabled: () => licensing.allowed() !== 'nothing' && directory.isEnabled() }
}
