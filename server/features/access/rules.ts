import type { Principal } from '../../core/access.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import { cached } from '../../lib/cached.ts'
import type { Clock } from '../../lib/clock.ts'

/** Who may see one distribution. Three empty lists: everybody who is signed in. */
export interface Rule {
  readonly codename: string
  /** Its published tree asks for a credential, too. */
  readonly private: boolean
  readonly roles: readonly string[]
  readonly users: readonly string[]
  readonly groups: readonly string[]
}

export interface Group {
  readonly name: string
  readonly members: readonly string[]
}

/** Decides who sees what. */
export interface AccessRules {
  /** Codenames hidden from somebody, or from a caller who is not signed in. An admin sees everything. */
  hiddenFrom(who: Principal | undefined): Promise<readonly string[]>
  /** Distributions whose trees ask for a credential. */
  privateTrees(): Promise<ReadonlySet<string>>
  /** Call it after a change: the next answer is read again. */
  changed(): void
}

const FRESH_MS = 1_000
/** No rule at all: everybody who is signed in sees it. */
export const isOpen = ({ roles, users, groups }: Rule): boolean => roles.length + users.length + groups.length === 0

/** One thing that lets somebody see a distribution. */
export interface Opening {
  readonly kind: 'everyone' | 'admin' | 'role' | 'user' | 'group'
  /** Of the role or group. */
  readonly name?: string
}

/** Everything that lets a user see a distribution; empty: it is hidden. */
export function opens(
  who: Pick<Principal, 'kind' | 'name' | 'role'>,
  rule: Rule,
  groups: readonly Group[],
): readonly Opening[] {
  if (isOpen(rule)) return [{ kind: 'everyone' }]
  const isUser = who.kind !== 'token'
  return [
    ...(who.role === 'admin' ? [{ kind: 'admin' as const }] : []),
    ...(rule.roles.includes(who.role) ? [{ kind: 'role' as const, name: who.role }] : []),
    ...(isUser && rule.users.includes(who.name) ? [{ kind: 'user' as const }] : []),
    ...groups
      .filter(({ name, members }) => isUser && rule.groups.includes(name) && members.includes(who.name))
      .map(({ name }) => ({ kind: 'group' as const, name })),
  ]
}

/** The token's own list of distributions was given by an admin: it opens what it names. */
function isOpenTo(who: Principal | undefined, rule: Rule, groups: readonly Group[]): boolean {
  if (who === undefined) return isOpen(rule)
  return opens(who, rule, groups).length > 0 || who.scope?.distributions?.includes(rule.codename) === true
}

/** Every rule, by codename. */
export function listRules(db: Queryable): Promise<Rule[]> {
  return db.query<Rule>('select codename, private, roles, users, groups from distribution_access order by codename')
}

/** Every group with its members, by name. */
export function listGroups(db: Queryable): Promise<Group[]> {
  return db.query<Group>('select name, members from access_group order by name')
}

/** Writes the whole rule in place of the one before, which it returns. Of two at once the second sees the first. */
export async function replaceRule(
  tx: Tx,
  { codename, private: isPrivate, roles, users, groups }: Rule,
): Promise<Rule | undefined> {
  await tx.query('lock table distribution_access in share row exclusive mode')
  const before = await tx.first<Rule>(
    'select codename, private, roles, users, groups from distribution_access where codename = $1',
    [codename],
  )
  await tx.query(
    `
    insert into distribution_access (codename, private, roles, users, groups) values ($1, $2, $3, $4, $5)
    on conflict (codename) do update set private = $2, roles = $3, users = $4, groups = $5`,
    [codename, isPrivate, roles, users, groups],
  )
  return before
}

/** Writes the members of a group in place of those before, which it returns; undefined for a new group. */
export async function replaceGroup(tx: Tx, { name, members }: Group): Promise<Group | undefined> {
  await tx.query('lock table access_group in share row exclusive mode')
  const before = await tx.first<Group>('select name, members from access_group where name = $1', [name])
  await tx.query(
    'insert into access_group (name, members) values ($1, $2) on conflict (name) do update set members = $2',
    [name, members],
  )
  return before
}

/** The rules, read at most once a second, or at once after a change in this process. */
export function createAccessRules({ db, clock }: { readonly db: Db; readonly clock: Clock }): AccessRules {
  const read = () =>
    cached({
      clock,
      ms: FRESH_MS,
      read: async () => {
        const [rules, groups] = [await listRules(db), await listGroups(db)]
        return { rules, groups, closed: new Set(rules.filter(rule => rule.private).map(rule => rule.codename)) }
      },
    })
  let known = read()
  return {
    async hiddenFrom(who) {
      if (who?.role === 'admin') return []
      const { rules, groups } = await known()
      return rules.filter(rule => !isOpenTo(who, rule, groups)).map(rule => rule.codename)
    },
    privateTrees: async () => (await known()).closed,
    changed: () => {
      known = read()
    },
  }
}
