import type { Actor, SetTag } from '../../catalog/change.ts'
import { lockTags } from '../../catalog/queries/tags.ts'
import { isRefusal } from '../../core/errors.ts'
import type { PackageName } from '../../core/identity.ts'
import { isServed, type Manifest } from '../../core/manifest.ts'
import type { Tx } from '../../db/db.ts'
import { isoNow } from '../../lib/clock.ts'
import type { OciDeps } from './deps.ts'
import type { Repository } from '../../catalog/queries/oci.ts'
import {
  listWaitingTags,
  putWaitingTag,
  removeWaitingTag,
  takeWaitingTag,
  type WaitingTag,
} from '../../catalog/queries/oci-lists.ts'

/** Tags pushed with a version that is held: they move when it is published, and clients keep the last good one. */
export interface WaitingTags {
  /**
   * Moves the tags whose version is published by now, and forgets those that were set otherwise since.
   * @returns those that go on waiting
   */
  settle(repository: Repository): Promise<readonly WaitingTag[]>
  /** Gives a version a tag: at once where it is published, otherwise when it will be. */
  name(repository: Repository, what: { readonly tag: string; readonly manifest: Manifest }, actor: Actor): Promise<void>
}

/** They are looked at when a client asks about their repository; until then the console shows a tag where it was. */
export function createWaitingTags({ db, catalog, clock }: Pick<OciDeps, 'db' | 'catalog' | 'clock'>): WaitingTags {
  const nameOf = ({ codename, name }: Repository): PackageName => ({ format: 'oci', codename, name })

  async function move(repository: Repository, change: Omit<SetTag, 'kind' | 'of'>, actor: Actor): Promise<void> {
    try {
      await catalog.change({ kind: 'tag', of: nameOf(repository), ...change }, actor)
    } catch (error) {
      // deleted meanwhile: nothing is left to wait for
      if (!isRefusal(error, 'version_not_found')) throw error
      await removeWaitingTag(db, repository, change)
    }
  }
  return {
    async settle(repository) {
      const rows = await listWaitingTags(db, repository)
      for (const row of rows) {
        if (row.overruled || row.state === null) await removeWaitingTag(db, repository, row)
        else if (row.state === 'published') {
          const { tag, version, by } = row
          // something else may have been pushed since the rows were read: what was pushed last counts
          const unless = async (tx: Tx): Promise<boolean> => !(await takeWaitingTag(tx, repository, row))
          await move(repository, { tag, version, unless }, { name: by })
        }
      }
      return rows.filter(({ state, overruled }) => !overruled && state !== 'published' && state !== null)
    },
    async name(repository, { tag, manifest }, actor) {
      const { version } = manifest.ref
      if (!isServed(manifest.state))
        return db.tx(async tx => {
          // a tag that is moving at this moment was set before this push
          await lockTags(tx, nameOf(repository))
          await putWaitingTag(tx, repository, { tag, version, by: actor.name, at: isoNow(clock) })
        })
      // an older push that is approved later must not move the tag back
      await removeWaitingTag(db, repository, { tag })
      await move(repository, { tag, version }, actor)
    },
  }
}
