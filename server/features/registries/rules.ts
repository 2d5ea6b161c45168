import { fail } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import { complainPattern } from '../../core/registry-names.ts'
import { REGISTRY_KINDS, type AgeSource, type RegistryKind, type RegistryRules } from '../../core/registry.ts'
import type { Repositories } from '../../core/repository.ts'
import { readUpstream, type SecretChange, type UpstreamDeps, type UpstreamWish } from './upstream-wish.ts'

/** What an admin says of the rules of a registry. What is absent stays; null takes a rule away. */
export interface RulesWish {
  readonly kind?: string | undefined
  readonly upstream?: UpstreamWish | undefined
  readonly min_age_days?: number | undefined
  readonly age_from?: string | undefined
  readonly hold_lookalikes?: boolean | undefined
  readonly members?: readonly string[] | undefined
  readonly reserved?: readonly string[] | undefined
  readonly require_signature?: string | undefined
  /** Null: the newest ten. */
  readonly snapshots_kept?: number | null | undefined
}

export interface RulesDeps extends UpstreamDeps {
  readonly codename: string
  readonly format: FormatId
  readonly hasSnapshots: boolean
  readonly hasSignatures: boolean
  readonly repositories: Pick<Repositories, 'registries'>
}

const MOST_MEMBERS = 50
const MOST_PATTERNS = 100

const refuse = (field: string, why: string): never => fail('bad_registry', { field, why })

function readMembers(members: readonly string[], { codename, format, repositories }: RulesDeps) {
  if (members.length === 0) refuse('members', 'a group needs one at least')
  if (members.length > MOST_MEMBERS) refuse('members', `at most ${MOST_MEMBERS} are possible`)
  if (new Set(members).size < members.length) refuse('members', 'each is named once')
  const all = repositories.registries()
  return members.map(member => {
    const found = all.find(one => one.codename === member && one.format === format)
    if (found === undefined || found.codename === codename)
      return refuse('members', `there is no other registry ${member.slice(0, 80)} for packages of ${format}`)
    if (found.registry?.kind === 'group') refuse('members', `${member} is a group, and groups have no groups`)
    return found.codename
  })
}

function readPatterns(patterns: readonly string[]): readonly string[] {
  if (patterns.length > MOST_PATTERNS) refuse('reserved', `at most ${MOST_PATTERNS} are possible`)
  for (const pattern of patterns) {
    const why = complainPattern(pattern)
    if (why !== undefined) refuse('reserved', `${JSON.stringify(pattern.slice(0, 80))}: ${why}`)
  }
  return [...new Set(patterns)]
}

/** Each rule belongs to some kinds. */
const KINDS_OF: Readonly<Record<Exclude<keyof RulesWish, 'kind'>, readonly RegistryKind[]>> = {
  upstream: ['proxy'],
  min_age_days: ['proxy'],
  age_from: ['proxy'],
  hold_lookalikes: ['proxy'],
  members: ['group'],
  reserved: ['hosted', 'group'],
  require_signature: ['hosted', 'proxy'],
  snapshots_kept: ['hosted'],
}

const KIND_WORDS: Readonly<Record<RegistryKind, string>> = {
  hosted: 'a hosted registry',
  proxy: 'a registry that reads through',
  group: 'a group',
}

/** The kind of a new registry. @throws bad_registry */
export function readKind(text: string | undefined): RegistryKind {
  const kind = REGISTRY_KINDS.find(one => one === (text ?? 'hosted'))
  return kind ?? refuse('kind', `${REGISTRY_KINDS.join(', ')} are possible`)
}

function mustFitKind(wish: RulesWish, kind: RegistryKind): void {
  for (const [field, kinds] of Object.entries(KINDS_OF))
    if (wish[field as keyof RulesWish] !== undefined && !kinds.includes(kind))
      refuse(
        field,
        `${KIND_WORDS[kind]} has no such rule, it is one of ${kinds.map(one => KIND_WORDS[one]).join(' and ')}; leave it out`,
      )
}

/** The rules with a change in place of one of them, and without it where the change is undefined. */
const withRule = <Key extends keyof RegistryRules>(
  rules: RegistryRules,
  key: Key,
  value: RegistryRules[Key] | undefined,
): RegistryRules => {
  const changed = Object.entries({ ...rules, [key]: value }).filter(([, one]) => one !== undefined)
  return Object.fromEntries(changed) as unknown as RegistryRules
}

/**
 * The rules after a wish, and what becomes of the secret. A credential is for the server and the user that it was given
 * for: others without a secret of their own lose it.
 * @throws bad_registry
 */
export function rulesOf(
  wish: RulesWish,
  before: RegistryRules,
  deps: RulesDeps,
): { readonly rules: RegistryRules; readonly secret: SecretChange } {
  const { kind } = before
  if (wish.kind !== undefined && wish.kind !== kind) refuse('kind', 'it stays what it is; make another registry')
  mustFitKind(wish, kind)
  let rules = before
  let secret: SecretChange = { is: 'kept' }
  const { upstream, min_age_days: days, age_from: from, members, reserved, snapshots_kept: kept } = wish
  const { require_signature: signature, hold_lookalikes: alike } = wish
  if (upstream !== undefined) {
    const read = readUpstream(upstream, before.upstream, deps)
    rules = withRule(rules, 'upstream', read.upstream)
    secret = read.secret
  }
  if (kind === 'proxy' && rules.upstream === undefined)
    refuse('upstream', 'a registry that reads through needs the address of the other one')
  if (days !== undefined) rules = withRule(rules, 'minAgeDays', days === 0 ? undefined : days)
  if (from !== undefined) rules = withRule(rules, 'ageFrom', from as AgeSource)
  if (alike !== undefined) rules = withRule(rules, 'holdLookalikes', alike ? true : undefined)
  if (members !== undefined) rules = withRule(rules, 'members', readMembers(members, deps))
  if (kind === 'group' && rules.members === undefined) refuse('members', 'a group needs one at least')
  if (reserved !== undefined)
    rules = withRule(rules, 'reserved', reserved.length === 0 ? undefined : readPatterns(reserved))
  if (signature !== undefined && !deps.hasSignatures)
    refuse('require_signature', 'only container images are signed by keys')
  if (signature !== undefined)
    rules = withRule(rules, 'requireSignature', signature === 'none' ? undefined : (signature as 'review' | 'block'))
  if (kept !== undefined && kept !== null && !deps.hasSnapshots) refuse('snapshots_kept', 'only Maven knows snapshots')
  if (kept !== undefined) rules = withRule(rules, 'snapshotsKept', kept ?? undefined)
  return { rules, secret }
}
