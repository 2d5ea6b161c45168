import {
  findRemoteTag,
  noteAsked,
  saveRemoteTag,
  saveTagFailure,
  type RemoteTag,
} from '../../../catalog/queries/oci-remote.ts'
import { noteUnanswered } from '../../../catalog/queries/remote-unanswered.ts'
import { fail } from '../../../core/errors.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import { outcomeOf, type Freshness, type Known } from '../../remote/freshness.ts'
import type { OciDeps } from '../deps.ts'
import { isMissing, type FarRepository, type Missing, type OciUpstream } from './upstream.ts'

/** What tags name at the upstreams. */
export interface FarTags {
  /**
   * A tag, as fresh as `Freshness.current` has it.
   * @throws outbound_failed, outbound_refused, upstream_refused where nothing is known
   */
  current(at: FarRepository, tag: string): Promise<Known<RemoteTag> | Missing>
}

/** What upstreams do not have, so that nobody asks for it again and again. */
export interface Lacking {
  find(key: string): Missing | undefined
  add(key: string, missing: Missing): void
}

const LACKING_MS = 5 * 60_000
const MOST_LACKING = 10_000

export function createLacking({ clock }: { readonly clock: Clock }): Lacking {
  const all = new Map<string, { readonly missing: Missing; readonly until: number }>()
  return {
    find(key) {
      const found = all.get(key)
      if (found !== undefined && found.until > clock.now().getTime()) return found.missing
      all.delete(key)
      return undefined
    },
    add(key, missing) {
      all.delete(key)
      all.set(key, { missing, until: clock.now().getTime() + LACKING_MS })
      const [oldest] = all.keys()
      if (all.size > MOST_LACKING && oldest !== undefined) all.delete(oldest)
    },
  }
}

/** Names something of a repository among everything that upstreams are asked for: another upstream is asked anew. */
export const keyOf = ({ registry, name }: FarRepository, what: string): string =>
  `oci ${registry.codename} ${registry.registry?.upstream?.url ?? ''} ${name} ${what}`

/** An upstream that shows something no longer is not believed to have none. @throws outbound_failed */
export function mustShow({ missing, host, why }: Missing): void {
  if (missing === 'denied') fail('outbound_failed', { host, why })
}

/** Notes that an upstream has no such repository, or shows it to nobody here. */
export const noteMissing = (
  db: Db,
  of: Parameters<typeof noteUnanswered>[1],
  { told, now }: { readonly told: Missing; readonly now: Date },
): Promise<void> =>
  noteUnanswered(
    db,
    of,
    told.missing === 'denied'
      ? { outcome: 'refused', said: `${told.host}: ${told.why}`, now }
      : { outcome: 'missing', now },
  )

export function createFarTags({
  db,
  clock,
  freshness,
  lacking,
  far,
}: Pick<OciDeps, 'db' | 'clock'> & {
  readonly freshness: Freshness
  readonly lacking: Lacking
  readonly far: Pick<OciUpstream, 'tag'>
}): FarTags {
  return {
    async current(at, tag) {
      const key = keyOf(at, `tag ${tag}`)
      const missing = lacking.find(key)
      if (missing !== undefined) return missing
      const of = { codename: at.registry.codename, name: at.name, tag }
      const found = await freshness.current<RemoteTag>({
        key,
        find: () => findRemoteTag(db, of),
        refresh: async (known, signal) => {
          const told = await far.tag(at, tag, known?.digest ?? undefined, signal)
          const now = clock.now()
          if (!isMissing(told)) {
            await saveRemoteTag(db, of, { digest: told.digest, now })
            return noteAsked(db, of, { now })
          }
          // nothing is kept of what never was
          if (known === undefined) {
            lacking.add(key, told)
            return noteMissing(db, of, { told, now })
          }
          mustShow(told)
          await saveRemoteTag(db, of, { digest: null, now })
        },
        failed: async (said, error) => {
          const now = clock.now()
          await saveTagFailure(db, of, { now, said })
          await noteAsked(db, of, { now, said })
          await noteUnanswered(db, of, { outcome: outcomeOf(error), said, now })
        },
      })
      return (
        found ?? lacking.find(key) ?? { missing: 'absent', host: 'the upstream', why: `it has no ${at.name}:${tag}` }
      )
    },
  }
}
