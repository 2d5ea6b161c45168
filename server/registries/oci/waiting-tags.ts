import type { Actor } from '../../catalog/change.ts'
import { isRefusal } from '../../core/errors.ts'
import { isServed, type Manifest } from '../../core/manifest.ts'
import { isoNow } from '../../lib/clock.ts'
import type { OciDeps } from './deps.ts'
import type { Repository } from '../../catalog/queries/oci.ts'
import { listWaitingTags, putWaitingTag, removeWaitingTag, type WaitingTag } from '../../catalog/queries/oci-lists.ts'

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
  async function move({ codename, name }: Repository, { tag, version }: WaitingTag, actor: Actor): Promise<void> {
    try {
      await catalog.change({ kind: 'tag', of: { format: 'oci', codename, name }, tag, version }, actor)
    } catch (error) {
      // deleted meanwhile: nothing is left to wait for
      if (!isRefusal(error, 'version_not_found')) throw error
    }
    await removeWaitingTag(db, { codename, name }, { tag, version })
  }
  return {
    async settle(repository) {
      const rows = await listWaitingTags(db, repository)
      for (const row of rows) {
        if (row.overruled || row.state === null) await removeWaitingTag(db, repository, row)
        else if (row.state === 'published') await move(repository, row, { name: row.by })
      }
      return rows.filter(({ state, overruled }) => !overruled && state !== 'published' && state !== null)
    },
    async name(repository, { tag, manifest }, actor) {
      const { version } = manifest.ref
      if (!isServed(manifest.state))
        return putWaitingTag(db, repository, { tag, version, by: actor.name, at: isoNow(clock) })
      // what was pushed last counts: an older push that is approved later must not move the tag back
      await removeWaitingTag(db, repository, { tag })
      await move(repository, { tag, version, by: actor.name }, actor)
    },
  }
}
