import { printRef, type PackageRef } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Tx } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import { PACKAGE_COLUMNS, PACKAGE_ROWS, rowOf } from './columns.ts'
import { indexDecisions, insertFindings, type Written } from './review-index.ts'
import { insertFiles } from './store.ts'

async function insertPackages(tx: Tx, manifests: readonly Manifest[]): Promise<Map<string, number>> {
  const rows = await tx.repeat<PackageRef & { readonly id: number }>(
    `insert into package (${PACKAGE_COLUMNS}) select ${PACKAGE_COLUMNS} from ${PACKAGE_ROWS}
    on conflict (format, codename, name, version, arch) do nothing returning id, format, codename, name, version, arch`,
    [JSON.stringify(manifests.map(rowOf))],
  )
  return new Map(rows.map(row => [printRef(row), row.id]))
}

async function insertOffers(tx: Tx, written: readonly Written[]): Promise<void> {
  const offers = written.flatMap(({ id, manifest }) => manifest.about.provides.map(offer => ({ id, ...offer })))
  if (offers.length === 0) return
  await tx.repeat(
    'insert into package_offer (package_id, provides, version) select * from unnest($1::bigint[], $2::text[], $3::text[])',
    [offers.map(({ id }) => id), offers.map(({ name }) => name), offers.map(({ version }) => version ?? null)],
  )
}

/**
 * The names of hosted registries are kept for good: nobody looks for them outside, also when their last version is
 * gone.
 */
async function keepNames(tx: Tx, manifests: readonly Manifest[]): Promise<void> {
  const refs = manifests.map(({ ref }) => ref).filter(({ format }) => getFormat(format).registryClient !== undefined)
  if (refs.length === 0) return
  await tx.repeat(
    `insert into registry_owned_name (codename, name, since)
    select distinct given.codename, given.name, now() from unnest($1::text[], $2::text[]) as given (codename, name)
    join distribution_definition d on d.codename = given.codename
    where coalesce(d.definition->'registry'->>'kind', 'hosted') = 'hosted' and d.definition->>'kind' = 'registry'
    on conflict do nothing`,
    [refs.map(({ codename }) => codename), refs.map(({ name }) => name)],
  )
}

/**
 * Adds versions, each of another identity, with one statement for each table.
 * @returns those that were not there yet, with the numbers of their rows; the others are left as they are
 */
export async function insertManifests(tx: Tx, manifests: readonly Manifest[]): Promise<readonly Written[]> {
  if (manifests.length === 0) return []
  const ids = await insertPackages(tx, manifests)
  const written = manifests.flatMap(manifest => {
    const id = ids.get(printRef(manifest.ref))
    return id === undefined ? [] : [{ id, manifest }]
  })
  await insertOffers(tx, written)
  await insertFiles(tx, written)
  await insertFindings(tx, written)
  await keepNames(
    tx,
    written.map(({ manifest }) => manifest),
  )
  await indexDecisions(
    tx,
    written.map(({ manifest }) => manifest),
  )
  return written
}
