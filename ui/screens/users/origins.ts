import type { User } from '../../wire.ts'

/** The origin of an account, and what it means for the password. */
export const ORIGINS: Readonly<
  Record<User['origin'], { readonly word: string; readonly password: string; readonly role: string }>
> = {
  local: { word: 'Local', password: 'The password is kept here.', role: '' },
  ldap: {
    word: 'Directory',
    password: 'The password is kept in the directory. Change it there.',
    role: 'From the groups in the directory, again at each sign-in.',
  },
  oidc: {
    word: 'Single sign-on',
    password: 'There is no password here: signing in goes through the provider.',
    role: 'From the groups of the provider, again at each sign-in.',
  },
}
