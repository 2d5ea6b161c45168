import { countParts } from '../../catalog/queries/distributions.ts'
import type { DefinitionRules } from '../../core/definition.ts'
import { fail } from '../../core/errors.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import { mainOf, type Distribution, type Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Db, Tx } from '../../db/db.ts'
import { lockDistribution } from '../../db/distribution-lock.ts'
import type { Outbox } from '../../db/outbox.ts'
import {
  definitionsInTurn,
  forgetByName,
  needFreeName,
  oweDefinition,
  type By,
  type Definitions,
} from '../../files/definitions.ts'
import type { Clock } from '../../lib/clock.ts'
import { failpoint } from '../../lib/failpoint.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import type { Publisher } from '../../publish/publisher.ts'
import type { Audit } from '../../record/audit.ts'
import type { DefinitionView } from './contract.ts'

export interface OwnDistributionDeps {
  readonly db: Db
  readonly repositories: Repositories
  readonly definitions: Definitions
  readonly formats: readonly DefinitionRules[]
  /** Scanner identifiers that vulnerability data is known for. */
  readonly scanners: () => Promise<readonly string[]>
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly clock: Clock
  /** Of `definitionsInTurn`. */
  readonly lock: KeyedLock
  /** Deletes the trees of a removed distribution from the disk. */
  readonly removeTrees: (distribution: Pick<Distribution, 'codename' | 'format'>) => Promise<void>
  readonly alone: Publisher['alone']
}

/** As the API shows it. */
export const viewOf = ({ release, ...one }: Distribution): DefinitionView => ({
  codename: one.codename,
  format: one.format,
  label: one.label,
  architectures: one.archs,
  components: one.components,
  suite: release.suite,
  origin: release.origin,
  release_label: release.label,
  version: release.version ?? null,
  description_line: release.description,
  scanner: one.scanner ?? null,
  based_on: one.basedOn ?? null,
  end_of_life: one.endOfLife ?? null,
  retired: one.state === 'retired',
  builtin: one.builtin,
})

/** Owes a publication of the whole tree, if there is one. */
async function followChange(tx: Tx, outbox: OwnDistributionDeps['outbox'], codename: string): Promise<void> {
  const published = await tx.first('select 1 as one from generation where codename = $1 limit 1', [codename])
  if (published === undefined) return
  await tx.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
  for (const kind of ['publish', 'contents']) await outbox.owe(tx, `${kind}:${codename}`)
}

/**
 * What else is kept by the codename; a later distribution of this name must not find it. The access rule stays:
 * decisions and the audit log still tell of the packages that were there.
 */
const TABLES = ['distribution', 'generation', 'publish_dirty', 'document', 'retention', 'pin'] as const

/**
 * Before a distribution is added: a request that was under way may have written a setting after an earlier one of this
 * name was removed. Packages that a rebuild found before their distribution was here are published now.
 */
async function forgetEarlier(tx: Tx, outbox: OwnDistributionDeps['outbox'], { codename }: Distribution): Promise<void> {
  await forgetByName(tx, TABLES, codename)
  if ((await countParts(tx, ALL_SEEING, codename)).length === 0) return
  await tx.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
  for (const kind of ['publish', 'contents']) await outbox.owe(tx, `${kind}:${codename}`)
}

/**
 * @param change.check  refuses the change; nothing is added to the distribution between it and the end
 * @throws distribution_exists where a registry or another distribution took the name meanwhile
 */
export async function save(
  { db, definitions, repositories, audit, outbox, clock }: OwnDistributionDeps,
  one: Distribution,
  {
    by,
    kind,
    check,
  }: {
    readonly by: By
    readonly kind: 'added' | 'changed' | 'retired' | 'reactivated'
    readonly check?: (tx: Tx) => Promise<void>
  },
): Promise<DefinitionView> {
  await db.tx(async tx => {
    await lockDistribution(tx, one.codename)
    if (kind === 'added') await needFreeName(tx, one)
    await check?.(tx)
    await oweDefinition(tx, outbox, one)
    if (kind === 'added') await forgetEarlier(tx, outbox, one)
    await definitions.save(tx, one, by.name, clock.now())
    if (kind === 'changed') await followChange(tx, outbox, one.codename)
    await audit.owe(tx, {
      action: 'DISTRIBUTION_CHANGE',
      result: 'SUCCESS',
      user: by.name,
      ip: by.ip,
      distribution: one.codename,
      facts: { kind: `distribution.${kind}`, architectures: one.archs, components: one.components },
    })
  })
  repositories.replace(await definitions.settle())
  outbox.nudge()
  return viewOf(one)
}

/** @throws distribution_in_use where an architecture or component that goes still has packages */
export async function refuseUsed(tx: Tx, before: Distribution, after: Distribution): Promise<void> {
  const parts = await countParts(tx, ALL_SEEING, before.codename)
  const lost = (from: readonly string[], to: readonly string[]): readonly string[] =>
    from.filter(one => !to.includes(one))
  const [archs, components] = [lost(before.archs, after.archs), lost(before.components, after.components)]
  const held = parts.filter(
    ({ kind, arch, component }) =>
      (kind !== 'source' && archs.includes(arch)) ||
      components.includes(component ?? mainOf(before)) ||
      // packages without a component are in the first one, which must stay the same
      (component === null && mainOf(after) !== mainOf(before)),
  )
  if (held.length > 0)
    fail('distribution_in_use', {
      codename: before.codename,
      held: held
        .map(({ arch, component, packages }) => `${packages} in ${component ?? mainOf(before)}/${arch}`)
        .join(', '),
    })
}

/** The caller is alone with the trees. @throws distribution_not_found, distribution_builtin, distribution_in_use */
export async function remove(deps: OwnDistributionDeps, codename: string, by: By): Promise<void> {
  const { db, definitions, repositories, audit, outbox } = deps
  const one = repositories.trees.need(codename)
  if (one.builtin) fail('distribution_builtin', { codename: one.codename })
  await db.tx(async tx => {
    await lockDistribution(tx, one.codename)
    const parts = await countParts(tx, ALL_SEEING, one.codename)
    const packages = parts.reduce((sum, part) => sum + part.packages, 0)
    if (packages > 0) fail('distribution_in_use', { codename: one.codename, held: String(packages) })
    await definitions.remove(tx, one.codename)
    await forgetByName(tx, TABLES, one.codename)
    await oweDefinition(tx, outbox, one)
    await outbox.owe(tx, `document:${one.codename}`)
    await audit.owe(tx, {
      action: 'DISTRIBUTION_CHANGE',
      result: 'SUCCESS',
      user: by.name,
      ip: by.ip,
      distribution: one.codename,
      facts: { kind: 'distribution.removed', architectures: one.archs, components: one.components },
    })
  })
  failpoint('distribution:before-trees')
  await deps.removeTrees(one)
  repositories.replace(await definitions.settle())
  outbox.nudge()
}

/** One change at a time, and no publication of the distribution meanwhile: it would use the earlier definition. */
export const inTurn = <T>({ lock, alone }: OwnDistributionDeps, codename: string, work: () => Promise<T>): Promise<T> =>
  definitionsInTurn(lock, () => alone(codename as Codename, work))

/** Finishes what a stopped change left: the file of the definitions, and the trees of a removed distribution. */
export function settleDefinition(deps: OwnDistributionDeps, owed: string): Promise<void> {
  const [format, codename] = owed.split('/') as [FormatId, Codename]
  return inTurn(deps, codename, async () => {
    if (deps.repositories.find(codename) === undefined) await deps.removeTrees({ format, codename })
    deps.repositories.replace(await deps.definitions.settle())
  })
}

/** A distribution of this name may have been removed, and its trees not yet. */
export async function clearPlace({ db, removeTrees }: OwnDistributionDeps, { codename }: Distribution): Promise<void> {
  const owed = await db.query<{ key: string }>(
    `select distinct key from outbox where key like 'distribution:%/' || $1`,
    [codename],
  )
  for (const { key } of owed) {
    const [format] = key.slice('distribution:'.length).split('/') as [FormatId]
    await removeTrees({ format, codename })
  }
}
