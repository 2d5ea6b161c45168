import { countParts } from '../../catalog/queries/distributions.ts'
import type { Handlers } from '../../core/contract.ts'
import { readCodename, readDefinition, type DefinitionRules } from '../../core/definition.ts'
import { fail } from '../../core/errors.ts'
import { mainOf, type Distribution, type Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Definitions } from '../../files/definitions.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import type { Publisher } from '../../publish/publisher.ts'
import type { Audit } from '../../record/audit.ts'
import type { DefinitionView, ownDistributions } from './contract.ts'

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
  /** One change at a time: each is made to what the one before left. */
  readonly lock: KeyedLock
  /** Deletes the trees of a removed distribution from the disk. */
  readonly removeTrees: (distribution: Distribution) => Promise<void>
  readonly alone: Publisher['alone']
}

interface By {
  readonly name: string
  readonly ip: string
}

const viewOf = ({ release, ...one }: Distribution): DefinitionView => ({
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

async function save(
  { db, definitions, repositories, audit, outbox, clock }: OwnDistributionDeps,
  one: Distribution,
  { by, kind }: { readonly by: By; readonly kind: 'added' | 'changed' | 'retired' | 'reactivated' },
): Promise<DefinitionView> {
  await db.tx(async tx => {
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
async function refuseUsed({ db }: OwnDistributionDeps, before: Distribution, after: Distribution): Promise<void> {
  const parts = await countParts(db, ALL_SEEING, before.codename)
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

/**
 * What else is kept by the codename; a later distribution of this name must not find it. The access rule stays:
 * decisions and the audit log still tell of the packages that were there.
 */
const TABLES = ['distribution', 'generation', 'publish_dirty', 'document', 'retention', 'pin'] as const

/** @throws distribution_not_found, distribution_builtin, distribution_in_use */
async function remove(deps: OwnDistributionDeps, codename: string, by: By): Promise<void> {
  const { db, definitions, repositories, audit, outbox } = deps
  const one = repositories.need(codename)
  if (one.builtin) fail('distribution_builtin', { codename: one.codename })
  await db.tx(async tx => {
    const parts = await countParts(tx, ALL_SEEING, one.codename)
    const packages = parts.reduce((sum, part) => sum + part.packages, 0)
    if (packages > 0) fail('distribution_in_use', { codename: one.codename, held: String(packages) })
    await definitions.remove(tx, one.codename)
    for (const table of TABLES) await tx.query(`delete from ${table} where codename = $1`, [one.codename])
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
  await deps.alone(one.codename, async () => {
    await deps.removeTrees(one)
    repositories.replace(await definitions.settle())
  })
  outbox.nudge()
}

const inTurn = <T>({ lock }: OwnDistributionDeps, work: () => Promise<T>): Promise<T> => lock.run('definitions', work)

export const ownDistributionHandlers: Handlers<typeof ownDistributions, OwnDistributionDeps> = {
  'GET /distributions/{codename}/definition': ({ repositories }, { params, viewer }) =>
    viewOf(repositories.seenBy(viewer).need(params.codename)),
  'POST /distributions/': (deps, { body: { codename, ...wish }, who, raw }) =>
    inTurn(deps, async () =>
      save(deps, readDefinition(readCodename(codename, deps), wish, { ...deps, scanners: await deps.scanners() }), {
        by: { name: who.name, ip: raw.clientIp },
        kind: 'added',
      }),
    ),
  'PATCH /distributions/{codename}': (deps, { params, body, who, raw }) =>
    inTurn(deps, async () => {
      const before = deps.repositories.need(params.codename)
      const after = readDefinition(before.codename, body, { ...deps, scanners: await deps.scanners(), before })
      await refuseUsed(deps, before, after)
      return save(deps, after, { by: { name: who.name, ip: raw.clientIp }, kind: 'changed' })
    }),
  'DELETE /distributions/{codename}': (deps, { params, who, raw }) =>
    inTurn(deps, () => remove(deps, params.codename, { name: who.name, ip: raw.clientIp })),
  'POST /distributions/{codename}/retire': (deps, { params, who, raw }) =>
    inTurn(deps, () =>
      save(
        deps,
        { ...deps.repositories.need(params.codename), state: 'retired' },
        { by: { name: who.name, ip: raw.clientIp }, kind: 'retired' },
      ),
    ),
  'POST /distributions/{codename}/reactivate': (deps, { params, who, raw }) =>
    inTurn(deps, () =>
      save(
        deps,
        { ...deps.repositories.need(params.codename), state: 'active' },
        { by: { name: who.name, ip: raw.clientIp }, kind: 'reactivated' },
      ),
    ),
}
