import { fail } from '../../core/errors.ts'
import type { LdapDirectory, LdapSettings, LdapTrial } from '../../directory/ldap.ts'
import { DirectoryFault } from '../../directory/ldap-connection.ts'
import { SETTINGS } from '../../settings/schema.ts'
import { isTree, MASK, overlay, type Tree } from '../../settings/tree.ts'

/** Fields that decide where a secret goes: when one differs from the saved settings, the saved secret is not used. */
const DESTINATION = [
  'host',
  'port',
  'use_ssl',
  'use_starttls',
  'verify_cert',
  'ca_bundle_path',
] as const satisfies readonly (keyof LdapSettings)[]

/**
 * Lays a form over the saved settings; `***` and missing fields mean the saved value. The form may be the section or
 * `{ldap: section}`.
 * @throws unknown_setting, bad_setting; also where the saved password would go to a server it was not saved for
 */
function ldapOfForm(saved: LdapSettings, form: unknown): LdapSettings {
  const change = isTree(form) && isTree(form.ldap) ? form.ldap : form
  const next = overlay(SETTINGS.properties.ldap, saved as Tree, change ?? {}, 'ldap') as LdapSettings
  const given = isTree(change) ? change.bind_password : undefined
  const isElsewhere = DESTINATION.some(key => next[key] !== saved[key])
  if (isElsewhere && saved.bind_password !== '' && next.bind_dn !== '' && (given === undefined || given === MASK)) {
    fail('bad_setting', {
      key: 'ldap.bind_password',
      why: 'the saved one is not sent over another connection than it was saved for. Type it again',
    })
  }
  return next
}

/**
 * Tries settings without saving them. @throws ldap_failed with the error of the directory or the connection; as
 * `ldapOfForm`
 */
export async function tryLdap(
  directory: Pick<LdapDirectory, 'tryOut'>,
  saved: LdapSettings,
  form: Tree,
): Promise<LdapTrial & { readonly server: string }> {
  const { test_username: username, ...rest } = form
  const settings = ldapOfForm(saved, rest)
  const server = `${settings.host}:${settings.port}`
  try {
    return {
      server,
      ...(await directory.tryOut(settings, typeof username === 'string' && username !== '' ? username : undefined)),
    }
  } catch (error) {
    if (error instanceof DirectoryFault)
      return fail('ldap_failed', { server, why: error.why.replace(/\.$/, ''), step: error.step }, error)
    throw error
  }
}
