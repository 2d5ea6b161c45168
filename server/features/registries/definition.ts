import { readCodename } from '../../core/definition.ts'
import { wordsFor } from '../../core/default-distributions.ts'
import { AppError, fail } from '../../core/errors.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import type { Format } from '../../formats/format.ts'
import { getFormat } from '../../formats/index.ts'
import { readKind, rulesOf, type RulesWish } from './rules.ts'
import type { SecretChange, UpstreamDeps } from './upstream-wish.ts'

/** What an admin says of a registry. */
export interface RegistryWish extends RulesWish {
  readonly label?: string | undefined
  readonly retired?: boolean | undefined
}

/** A registry as it is to be, and what becomes of the secret for its upstream. */
export interface Defined {
  readonly registry: Distribution
  readonly secret: SecretChange
}

export interface DefinitionDeps extends UpstreamDeps {
  readonly repositories: Repositories
}

/** Words that stand in addresses of clients where a registry's name does. */
const RESERVED = ['token', 'auth', 'simple', 'legacy', 'search', 'all']
const LABEL = /^(?:[^\p{C}\p{Z}\p{DI}\u2800]| ){1,200}$/u

const refuse = (field: string, why: string): never => fail('bad_registry', { field, why })

function readLabel(text: string): string {
  return LABEL.test(text) && text.trim() === text
    ? text
    : refuse('label', 'one line of 1 to 200 visible characters is needed, with no blank at either end')
}

const SNAPSHOTS = new Set(['maven'])

/**
 * A new registry.
 * @throws bad_registry, distribution_exists
 */
export function newRegistry(
  { name, format: id, ...wish }: Omit<RegistryWish, 'retired'> & { readonly name: string; readonly format: string },
  { repositories, formats, refusesAddress }: DefinitionDeps & { readonly formats: readonly Format[] },
): Defined {
  const known = formats.filter(({ registryClient }) => registryClient !== undefined)
  const format = known.find(one => one.id === id)
  if (format === undefined)
    return refuse(
      'format',
      `there are registries for ${known.map(one => one.id).join(', ') || 'no format'}; distributions are made by POST /distributions/`,
    )
  if (RESERVED.includes(name) || known.some(({ registryClient }) => registryClient?.root === name))
    refuse('name', `${name} is a word of the addresses that clients use`)
  let codename: Distribution['codename']
  try {
    codename = readCodename(name, { repositories })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'bad_distribution') throw error
    return refuse('name', String(error.facts.why))
  }
  const label = readLabel(wish.label ?? name)
  const hasSnapshots = SNAPSHOTS.has(format.id)
  const hasSignatures = format.signing !== undefined
  const deps = { codename, format: format.id, hasSnapshots, hasSignatures, repositories, refusesAddress }
  const { rules, secret } = rulesOf(wish, { kind: readKind(wish.kind) }, deps)
  const registry: Distribution = {
    kind: 'registry',
    registry: rules,
    codename,
    format: format.id,
    label,
    archs: [],
    neutral: [],
    components: ['main'],
    release: wordsFor(codename, label),
    scanner: undefined,
    state: 'active',
    builtin: false,
  }
  return { registry, secret }
}

/** The registry as it is after a change. @throws bad_registry */
export function changedRegistry(
  before: Distribution,
  wish: RegistryWish,
  { repositories, refusesAddress }: DefinitionDeps,
): Defined {
  const { codename, format } = before
  const { label = before.label, retired = before.state === 'retired' } = wish
  const [hasSnapshots, hasSignatures] = [SNAPSHOTS.has(format), getFormat(format).signing !== undefined]
  const deps = { codename, format, hasSnapshots, hasSignatures, repositories, refusesAddress }
  const { rules, secret } = rulesOf(wish, before.registry ?? { kind: 'hosted' }, deps)
  if (retired && rules.kind !== 'hosted')
    refuse('retired', 'only a hosted registry retires, since nothing is published into others; remove it instead')
  const state = retired ? 'retired' : 'active'
  return { registry: { ...before, label: readLabel(label), registry: rules, state }, secret }
}
