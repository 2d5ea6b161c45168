import { EqualityFilter, Filter, OrFilter } from 'ldapts'
import { USERNAME, type Role } from '../core/access.ts'
import type { SettingsValue } from '../settings/schema.ts'
import type { Directory, DirectoryAnswer, DirectoryProfile } from './directory.ts'
import { namesGroups, roleOfGroups } from './groups.ts'
import { DirectoryFault, withLdap, type LdapConnection, type LdapEntry } from './ldap-connection.ts'

export type LdapSettings = SettingsValue['ldap']

/** The result of trying the settings. */
export interface LdapTrial {
  /** How the connection was: `LDAPS, certificate verified`. */
  readonly connection: string
  readonly bound_as: string
  /** Entries below base_dn that match the user filter with the given name; absent without a name. */
  readonly person?: {
    readonly dn: string
    readonly username: string
    readonly full_name: string
    readonly email: string
    readonly groups: readonly string[]
    readonly role: Role
  }
}

export interface LdapDirectory extends Directory {
  /**
   * Connects and binds with settings that are not saved yet, and looks somebody up without a password. @throws
   * DirectoryFault
   */
  tryOut(settings: LdapSettings, username?: string): Promise<LdapTrial>
}

export interface LdapDeps {
  readonly settings: () => LdapSettings
  /** Called with the reason when somebody with the right password is refused, and when the directory cannot be used. */
  readonly warn: (facts: Readonly<Record<string, string>>, message: string) => void
  /** Time for a whole login; 10 s by default. */
  readonly timeoutMs?: number
}

const LONGEST_NAME = 200

/**
 * Puts a name into the filter's `{username}`, escaped: typed text is a value and never part of the filter.
 * @throws DirectoryFault for a filter without the placeholder, which would match anybody. Source: RFC 4515, 3
 */
function fillFilter(template: string, username: string): string {
  if (!template.includes('{username}')) throw new DirectoryFault('person', 'ldap.user_filter has no {username}')
  return template.replaceAll('{username}', () => Filter.escape(username))
}

async function bindService(
  connection: LdapConnection,
  { bind_dn: dn, bind_password: password }: LdapSettings,
): Promise<void> {
  if (dn === '') return // the directory lets everybody search
  if (password === '') throw new DirectoryFault('bind', 'ldap.bind_password is empty')
  if (!(await connection.bind(dn, password)))
    throw new DirectoryFault('bind', 'it refused the service account: ldap.bind_dn or ldap.bind_password is wrong')
}

/** The one matching entry; undefined for none and for more than one. */
async function findPerson(
  connection: LdapConnection,
  settings: LdapSettings,
  username: string,
): Promise<LdapEntry | undefined> {
  const { base_dn: base, user_filter, attr_username, attr_email, attr_fullname, attr_groups } = settings
  const attributes = [attr_username, attr_email, attr_fullname, attr_groups].filter(name => name !== '')
  const found = await connection.findTwo(base, fillFilter(user_filter, username), attributes)
  return found.length === 1 ? found[0] : undefined
}

/** The groups in the person's own entry; where the directory keeps none there, the groups that list the person. */
async function groupsOf(
  connection: LdapConnection,
  settings: LdapSettings,
  person: LdapEntry,
): Promise<readonly string[]> {
  const own = settings.attr_groups === '' ? [] : person.values(settings.attr_groups)
  if (own.length > 0 || !namesGroups(settings)) return own
  const [name = ''] = person.values(settings.attr_username)
  const lists = (attribute: string, value: string): Filter => new EqualityFilter({ attribute, value })
  const filter = new OrFilter({
    filters: [
      lists('member', person.dn),
      lists('uniqueMember', person.dn),
      ...(name === '' ? [] : [lists('memberUid', name)]),
    ],
  })
  return (await connection.search(settings.base_dn, filter, ['cn'])).map(({ dn }) => dn)
}

/** Of several names always the same one: a directory keeps them in no order. */
const nameOf = (settings: LdapSettings, person: LdapEntry): string =>
  [...person.values(settings.attr_username)].sort()[0] ?? ''

function profileOf(settings: LdapSettings, person: LdapEntry, groups: readonly string[]): DirectoryProfile | undefined {
  const username = nameOf(settings, person)
  const [email] = settings.attr_email === '' ? [] : person.values(settings.attr_email)
  const [fullName] = settings.attr_fullname === '' ? [] : person.values(settings.attr_fullname)
  if (!USERNAME.test(username)) return undefined
  return {
    username,
    role: roleOfGroups(groups, settings) ?? settings.default_role,
    provision: settings.auto_provision,
    ...(fullName === undefined ? {} : { fullName: fullName.slice(0, 200) }),
    ...(email === undefined || !/^[^\s@]+@[^\s@]+$/.test(email) ? {} : { email: email.slice(0, 320) }),
  }
}

function describeConnection({ use_ssl, use_starttls, verify_cert }: LdapSettings): string {
  if (!use_ssl && !use_starttls) return 'LDAP in the clear: passwords can be read on the way'
  return `${use_ssl ? 'LDAPS' : 'StartTLS'}, certificate ${verify_cert ? 'verified' : 'not verified'}`
}

/** The directory that the settings name. Settings are read at each login, and each login has its own connection. */
export function createLdapDirectory({ settings: current, warn, timeoutMs = 10_000 }: LdapDeps): LdapDirectory {
  async function check(settings: LdapSettings, username: string, password: string): Promise<DirectoryAnswer> {
    return withLdap<DirectoryAnswer>(settings, timeoutMs, async connection => {
      await bindService(connection, settings)
      const person = await findPerson(connection, settings, username)
      if (person === undefined) {
        // an unknown name takes as long as a wrong password
        await connection.bind(`cn=nobody of this name,${settings.base_dn}`, password)
        return { kind: 'refused' }
      }
      if (!(await connection.bind(person.dn, password))) return { kind: 'refused', username: nameOf(settings, person) }
      // what a person may read about themselves differs from what the service account may read
      if (settings.bind_dn !== '') await bindService(connection, settings)
      const profile = profileOf(settings, person, await groupsOf(connection, settings, person))
      if (profile !== undefined) return { kind: 'ok', profile }
      warn(
        { dn: person.dn.slice(0, 300), attribute: settings.attr_username },
        'the directory gives somebody a user name that no account can have',
      )
      return { kind: 'refused' }
    })
  }

  return {
    isEnabled: () => current().enabled && current().host !== '',
    authenticate: async (username, password) => {
      if (password === '' || username === '' || username.length > LONGEST_NAME || /[\0\r\n]/.test(username))
        return { kind: 'refused' }
      try {
        return await check(current(), username, password)
      } catch (error) {
        if (!(error instanceof DirectoryFault)) throw error
        warn({ host: current().host, why: error.why }, 'the directory cannot be used')
        return { kind: 'unavailable', why: error.why }
      }
    },
    tryOut: (settings, username) =>
      withLdap(settings, timeoutMs, async connection => {
        await bindService(connection, settings)
        const connected = {
          connection: describeConnection(settings),
          bound_as: settings.bind_dn === '' ? 'anonymous' : settings.bind_dn,
        }
        if (username === undefined) {
          // a bind alone does not show whether base_dn and filter are right
          await findPerson(connection, settings, 'nobody of this name')
          return connected
        }
        const person = await findPerson(connection, settings, username)
        if (person === undefined)
          throw new DirectoryFault(
            'person',
            `ldap.user_filter finds nobody, or more than one, for ${JSON.stringify(username.slice(0, 80))}`,
          )
        const groups = await groupsOf(connection, settings, person)
        const profile = profileOf(settings, person, groups)
        if (profile === undefined)
          throw new DirectoryFault(
            'person',
            `${person.dn.slice(0, 200)} has no ${settings.attr_username} that can be a user name`,
          )
        return {
          ...connected,
          person: {
            dn: person.dn,
            username: profile.username,
            full_name: profile.fullName ?? '',
            email: profile.email ?? '',
            groups: groups.slice(0, 100),
            role: profile.role,
          },
        }
      }),
  }
}
