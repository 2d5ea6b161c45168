import type { Reply, Role } from '../../../wire.ts'

// What a person sees and may do, also as it would be after a change that is not saved.
export type Access = Reply<'GET /access/people/{username}'>
export type Seen = Access['distributions'][number]

/** What of a person is changed and not saved. */
export interface Draft {
  readonly role?: Role
  readonly groups?: readonly string[]
  /** Codenames of the rules that name this person. */
  readonly named?: readonly string[]
}
export interface Now {
  readonly role: Role
  readonly groups: readonly string[]
  readonly named: readonly string[]
}

/** What each role may do in a distribution that it sees, as the table of roles says it. */
export const ACTS: readonly { readonly word: string; readonly may: readonly Role[] }[] = [
  { word: 'Upload', may: ['uploader', 'maintainer', 'admin'] },
  { word: 'Decide', may: ['maintainer', 'admin'] },
  { word: 'Delete', may: ['maintainer', 'admin'] },
  { word: 'Promote', may: ['maintainer', 'admin'] },
  { word: 'Set up', may: ['admin'] },
]

/** How many names stand in one of the lists alone. */
export const differ = (one: readonly string[], other: readonly string[]): number =>
  one.filter(name => !other.includes(name)).length + other.filter(name => !one.includes(name)).length

/** What is saved, with the changes. */
export function applied(access: Access, role: Role, draft: Draft): Now {
  return {
    role: draft.role ?? role,
    groups: draft.groups ?? access.groups,
    named: draft.named ?? access.distributions.filter(one => one.named).map(one => one.codename),
  }
}

/** Everything that lets a person see a distribution, in words; empty: it is hidden. */
export function reasonsFor({ codename, open, rule }: Seen, { role, groups, named }: Now): string[] {
  if (open) return ['everybody sees it']
  return [
    ...(role === 'admin' ? ['admins see everything'] : []),
    ...(rule.roles.includes(role) ? [`the role ${role}`] : []),
    ...(named.includes(codename) ? ['by name'] : []),
    ...rule.groups.filter(name => groups.includes(name)).map(name => `the group ${name}`),
  ]
}

/** Why the name of a person cannot be put into a rule, or taken out of it. */
export function whyFixed({ codename, open, rule }: Seen, { named }: Now): string | undefined {
  if (open) return `Everybody sees ${codename}. Its rule, under Distributions, can close it.`
  if (named.includes(codename) && rule.roles.length + rule.groups.length + rule.other_users === 0)
    return `The rule of ${codename} names nobody else, and without a name everybody sees it. Change the rule under Distributions.`
  return undefined
}

/** The distributions that a change shows and hides. */
export function consequences(
  access: Access,
  before: Now,
  after: Now,
): { readonly shown: readonly string[]; readonly hidden: readonly string[] } {
  const sees = (now: Now): string[] =>
    access.distributions.filter(one => reasonsFor(one, now).length > 0).map(one => one.codename)
  const [old, next] = [sees(before), sees(after)]
  return { shown: next.filter(one => !old.includes(one)), hidden: old.filter(one => !next.includes(one)) }
}
