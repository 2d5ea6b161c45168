import { printRef, type PackageRef } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Tx } from '../../db/db.ts'
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
  await indexDecisions(
    tx,
    written.map(({ manifest }) => manifest),
  )
  return written
}
