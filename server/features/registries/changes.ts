import { countParts } from '../../catalog/queries/distributions.ts'
import { removeBlobsOf } from '../../catalog/queries/oci.ts'
import { forgetUpstream } from '../../catalog/queries/remote.ts'
import { fail } from '../../core/errors.ts'
import type { Codename } from '../../core/identity.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import { lockDistribution } from '../../db/distribution-lock.ts'
import type { Outbox } from '../../db/outbox.ts'
import { forgetByName, needFreeName, oweDefinition, type By, type Definitions } from '../../files/definitions.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { ChangeFact } from '../../record/audit-facts.ts'
import type { Audit } from '../../record/audit.ts'
import { sealSecret } from '../../registries/remote/secret.ts'
import type { Defined } from './definition.ts'
import { ruleChanges, secretChange } from './rule-changes.ts'
import type { SecretChange } from './upstream-wish.ts'

export interface ChangeDeps {
  readonly db: Db
  readonly repositories: Repositories
  readonly definitions: Definitions
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly clock: Clock
  readonly box: SecretBox
  /** Of `definitionsInTurn`. */
  readonly lock: KeyedLock
}

/**
 * What is kept by its name beside packages; a later registry of the name must not find it. The access rule stays. The
 * files of uploads and deploys without rows are swept up by their protocols.
 */
const TABLES = [
  ...['retention', 'pin', 'registry_waiting_tag', 'registry_upload', 'maven_arrived', 'maven_said'],
  ...[
    'oci_remote_tag',
    'oci_remote_list',
    'remote_name',
    'remote_unanswered',
    'remote_version',
    'registry_waiver',
    'registry_secret',
    'registry_owned_name',
  ],
] as const

async function forget(tx: Tx, { outbox }: Pick<ChangeDeps, 'outbox'>, codename: Codename): Promise<void> {
  await forgetByName(tx, TABLES, codename)
  // whoever has the same bytes keeps them: the debt looks where they belong
  for (const digest of await removeBlobsOf(tx, codename)) await outbox.owe(tx, `blob:${digest}`)
}

/** Tells the other parts, and other replicas, once it is committed. */
async function follow({ repositories, definitions, outbox }: ChangeDeps): Promise<void> {
  repositories.replace(await definitions.settle())
  outbox.nudge()
}

/** What is sent to the upstream is kept sealed, and nowhere else. */
async function keepSecret(
  tx: Tx,
  { box }: Pick<ChangeDeps, 'box'>,
  codename: Codename,
  change: SecretChange,
): Promise<readonly ChangeFact[]> {
  if (change.is === 'kept') return []
  const gone = await tx.query('delete from registry_secret where codename = $1 returning 1 as one', [codename])
  const [had, has] = [gone.length > 0, change.is === 'new']
  if (change.is === 'new')
    await tx.query('insert into registry_secret (codename, sealed) values ($1, $2)', [
      codename,
      sealSecret(box, change.url, change.secret),
    ])
  return had || has ? [secretChange(had, has)] : []
}

/** The registries among these that send a secret to their upstream. */
export async function listSecrets(db: Queryable, codenames: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ codename: string }>(
    'select codename from registry_secret where codename = any($1::text[])',
    [[...codenames]],
  )
  return new Set(rows.map(({ codename }) => codename))
}

/**
 * @param before  of a change; absent: it is new
 * @throws distribution_exists where somebody else took the name meanwhile
 */
export async function save(
  deps: ChangeDeps,
  { registry: one, secret }: Defined,
  { by, before }: { readonly by: By; readonly before?: Distribution },
): Promise<void> {
  const { db, definitions, audit, outbox, clock } = deps
  const { codename, format, label, state } = one
  await db.tx(async tx => {
    await lockDistribution(tx, codename)
    if (before === undefined) await needFreeName(tx, one)
    await oweDefinition(tx, outbox, one)
    if (before === undefined) await forget(tx, deps, codename)
    else if (before.registry?.upstream?.url !== one.registry?.upstream?.url) await forgetUpstream(tx, codename)
    await definitions.save(tx, one, by.name, clock.now())
    const changes = [...ruleChanges(before, one), ...(await keepSecret(tx, deps, codename, secret))]
    await audit.owe(tx, {
      action: 'DISTRIBUTION_CHANGE',
      result: 'SUCCESS',
      user: by.name,
      ip: by.ip,
      distribution: codename,
      facts:
        before === undefined
          ? { kind: 'registry.added', format, changes }
          : { kind: 'registry.changed', label, state, changes },
    })
  })
  await follow(deps)
}

/** The groups that it is a member of. */
const groupsWith = ({ repositories }: Pick<ChangeDeps, 'repositories'>, codename: Codename): readonly string[] =>
  repositories
    .registries()
    .filter(({ registry }) => registry?.members?.includes(codename) === true)
    .map(one => one.codename)

/**
 * With all that is kept by its name. Names that it owned may be looked up outside from then on.
 * @throws registry_in_use, registry_is_member
 */
export async function remove(deps: ChangeDeps, one: Distribution, by: By): Promise<void> {
  const { db, definitions, audit, outbox } = deps
  const { codename, format } = one
  const groups = groupsWith(deps, codename)
  if (groups.length > 0) fail('registry_is_member', { name: codename, groups: groups.join(', ') })
  await db.tx(async tx => {
    await lockDistribution(tx, codename)
    const versions = (await countParts(tx, ALL_SEEING, codename)).reduce((sum, part) => sum + part.packages, 0)
    if (versions > 0) fail('registry_in_use', { name: codename, versions })
    await definitions.remove(tx, codename)
    await forget(tx, deps, codename)
    await oweDefinition(tx, outbox, one)
    await audit.owe(tx, {
      action: 'DISTRIBUTION_CHANGE',
      result: 'SUCCESS',
      user: by.name,
      ip: by.ip,
      distribution: codename,
      facts: { kind: 'registry.removed', format },
    })
  })
  await follow(deps)
}
