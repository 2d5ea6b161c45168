import { readCodename } from '../../core/definition.ts'
import { wordsFor } from '../../core/default-distributions.ts'
import { AppError, fail } from '../../core/errors.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import type { RegistryRules } from '../../core/registry.ts'
import type { Format } from '../../formats/format.ts'

/** What an admin says of a registry. */
export interface RegistryWish {
  readonly label?: string | undefined
  readonly retired?: boolean | undefined
  /** Null: the newest ten. */
  readonly snapshots_kept?: number | null | undefined
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

function rulesOf(
  { snapshots_kept: kept }: RegistryWish,
  before: RegistryRules,
  { hasSnapshots }: { readonly hasSnapshots: boolean },
): RegistryRules {
  if (kept === undefined) return before
  const { snapshotsKept: _, ...rest } = before
  if (kept === null) return rest
  if (!hasSnapshots) refuse('snapshots_kept', 'only Maven knows snapshots')
  return { ...rest, snapshotsKept: kept }
}

const SNAPSHOTS = new Set(['maven'])

/**
 * A new registry.
 * @throws bad_registry, distribution_exists
 */
export function newRegistry(
  { name, format: id, ...wish }: RegistryWish & { readonly name: string; readonly format: string },
  { repositories, formats }: { readonly repositories: Repositories; readonly formats: readonly Format[] },
): Distribution {
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
  return {
    kind: 'registry',
    registry: rulesOf(wish, { kind: 'hosted' }, { hasSnapshots: SNAPSHOTS.has(format.id) }),
    codename,
    format: format.id,
    label,
    archs: [],
    neutral: [],
    components: ['main'],
    release: wordsFor(codename, label),
    scanner: undefined,
    state: wish.retired === true ? 'retired' : 'active',
    builtin: false,
  }
}

/** The registry as it is after a change. @throws bad_registry */
export function changedRegistry(before: Distribution, wish: RegistryWish): Distribution {
  const { label = before.label, retired = before.state === 'retired' } = wish
  return {
    ...before,
    label: readLabel(label),
    registry: rulesOf(wish, before.registry ?? { kind: 'hosted' }, { hasSnapshots: SNAPSHOTS.has(before.format) }),
    state: retired ? 'retired' : 'active',
  }
}
