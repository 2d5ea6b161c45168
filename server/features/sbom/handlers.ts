import { Readable } from 'node:stream'
import type { FileReply, Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Codename } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Bill } from '../../sbom/bill.ts'
import { PRINTS, type Bills, type PrintName } from '../../sbom/bills.ts'
import { isKnown } from '../../catalog/queries/versions.ts'
import type { sbom } from './contract.ts'

export interface SbomDeps {
  readonly db: Queryable
  readonly bills: Bills
  readonly repositories: Pick<Repositories, 'seenBy'>
}

const PREVIEWED = 20

/**
 * As a stream. What fails after the first byte cuts the connection, so half a document is never taken for a whole one.
 */
function documentOf(bill: Bill, format: PrintName = 'cyclonedx', isDownload = true): FileReply {
  const { print, ending } = PRINTS[format]
  const { name, version } = bill.heading
  const fileName = `${name}${version === undefined ? '' : `-${version}`}.${ending}`.replace(/[^\w.+~-]/g, '_')
  return {
    body: Readable.from(print(bill), { objectMode: false }),
    type: 'application/json; charset=utf-8',
    ...(isDownload ? { name: fileName } : {}),
  }
}

/** @throws unknown_distribution */
function seenCodename({ repositories }: SbomDeps, viewer: Viewer, asked: string | undefined): Codename | undefined {
  return asked === undefined ? undefined : repositories.seenBy(viewer).get(asked).codename
}

export const sbomHandlers: Handlers<typeof sbom, SbomDeps> = {
  'GET /sbom/export': async (deps, { query: { format, distribution }, viewer }) => {
    return documentOf(await deps.bills.ofServed(viewer, { codename: seenCodename(deps, viewer, distribution) }), format)
  },
  'GET /sbom/preview': async (deps, { query: { format, distribution, limit = PREVIEWED }, viewer }) => {
    return documentOf(
      await deps.bills.ofServed(viewer, { codename: seenCodename(deps, viewer, distribution), limit }),
      format,
      false,
    )
  },
  'GET /sbom/{name}/{version}': async ({ db, bills }, { params, query: { format, arch, distribution }, viewer }) => {
    const bill = await bills.ofPackage(viewer, { ...params, arch, distribution })
    if (bill !== undefined) return documentOf(bill, format)
    return (await isKnown(db, viewer, params.name))
      ? fail('version_not_found', params)
      : fail('package_not_found', params)
  },
}
