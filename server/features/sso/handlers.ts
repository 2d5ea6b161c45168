import type { Handlers } from '../../core/contract.ts'
import type { LdapDirectory } from '../../directory/ldap.ts'
import type { Settings } from '../../settings/store.ts'
import type { sso } from './contract.ts'
import { tryLdap } from './ldap-trial.ts'

export interface SsoDeps {
  readonly settings: Pick<Settings, 'now'>
  readonly directory: Pick<LdapDirectory, 'tryOut'>
}

export const ssoHandlers: Handlers<typeof sso, SsoDeps> = {
  'POST /settings/test-ldap': async ({ settings, directory }, { body }) => {
    const { person, ...trial } = await tryLdap(directory, settings.now().ldap, body)
    const found = person === undefined ? '' : ` ${person.username} is there, as ${person.role}.`
    return { ok: true, message: `${trial.server} is reached and took the bind. ${trial.connection}.${found}`, ...trial, ...person === undefined ? {} : { person: { ...person, groups: [...person.groups] } } }
  },
}
