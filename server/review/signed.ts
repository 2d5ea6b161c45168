import { findPartsOf, listHeldIn, listRefsOf, listWholesOf, type About } from '../catalog/queries/image-signatures.ts'
import { isRefusal } from '../core/errors.ts'
import type { Deliver } from '../core/feature.ts'
import type { PackageRef } from '../core/identity.ts'
import type { Repositories } from '../core/repository.ts'
import type { Queryable } from '../db/db.ts'
import type { Rescans } from './rescan.ts'

export interface SignedDeps {
  readonly db: Queryable
  readonly rescans: Pick<Rescans, 'lookForSignatures'>
  readonly repositories: Pick<Repositories, 'find'>
  readonly signal: AbortSignal
}

const BATCH = 200
const MOST_ABOVE = 100

/**
 * Looks at signatures again: of one version when one has come, of all that waits in a registry when its keys changed.
 * Parts come before what is made of them, since that waits for them; what a version is a part of comes last.
 */
export function createSignedDelivery({ db, rescans, repositories, signal }: SignedDeps): Deliver {
  async function look(ref: PackageRef): Promise<void> {
    try {
      await rescans.lookForSignatures(ref, signal)
    } catch (error) {
      // deleted meanwhile
      if (!isRefusal(error, 'version_not_found')) throw error
    }
  }

  async function lookAtAll(codename: string, format: PackageRef['format']): Promise<void> {
    const wholes: PackageRef[] = []
    for (let after = 0; ;) {
      const rows = await listHeldIn(db, { format, codename }, { after, limit: BATCH })
      for (const { id: _, has_parts: hasParts, ...ref } of rows) {
        if (hasParts) wholes.push(ref)
        else await look(ref)
      }
      const last = rows.at(-1)
      if (last === undefined) break
      after = last.id
    }
    for (const ref of wholes) await look(ref)
  }

  /** What waits for this version, and for what waits for that: an index of indexes may have its signature first. */
  async function lookAbove(of: About): Promise<void> {
    const seen = new Set([of.version])
    // a set goes on with what is added meanwhile
    for (const version of seen) {
      if (version !== of.version) for (const ref of await listRefsOf(db, of, [version])) await look(ref)
      if (seen.size < MOST_ABOVE) for (const whole of await listWholesOf(db, { ...of, version })) seen.add(whole)
    }
  }

  return async rests => {
    for (const rest of rests) {
      const [place = '', name, version] = rest.split(' ')
      const found = repositories.find(place)
      if (found === undefined) continue
      const { format, codename } = found
      if (name === undefined || version === undefined) {
        await lookAtAll(codename, format)
        continue
      }
      const of = { format, codename, name }
      for (const ref of await listRefsOf(db, of, await findPartsOf(db, { ...of, version }))) await look(ref)
      for (const ref of await listRefsOf(db, of, [version])) await look(ref)
      await lookAbove({ ...of, version })
    }
  }
}
