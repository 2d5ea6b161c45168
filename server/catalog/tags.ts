import { fail } from '../core/errors.ts'
import type { PackageRef } from '../core/identity.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Audit } from '../record/audit.ts'
import { tagged } from './audit-facts.ts'
import type { Actor, SetTag, Written } from './change.ts'
import { oweTags } from './effects.ts'
import { removeWaitingTag } from './queries/oci-lists.ts'
import { deleteTag, deleteTagsOf, findVersion, lockTags, readTag, writeTag } from './queries/tags.ts'

export interface TagDeps {
  readonly db: Db
  readonly outbox: Outbox
  readonly audit: Audit
  readonly clock: Clock
}

/** Mutable names of versions. Moving one makes no new version: publications and decisions stay. */
export interface Tags {
  /** @throws version_not_found, tag_not_found */
  set(change: SetTag, actor: Actor): Promise<Written>
  /** Call it before locking the row of a version that is to be deleted: no tag may be added meanwhile. */
  lock(tx: Tx, ref: PackageRef): Promise<void>
  /**
   * Call it after the row was deleted: with its last architecture a version loses its tags, each with its audit line.
   */
  removeWith(tx: Tx, ref: PackageRef, actor: Actor): Promise<void>
}

/** Tags over their table; the file beside the manifests is owed. */
export function createTags({ db, outbox, audit, clock }: TagDeps): Tags {
  async function write(tx: Tx, { of, tag, version, at, by }: SetTag, actor: Actor): Promise<void> {
    if (version !== undefined) return writeTag(tx, of, { tag, version, by: by ?? actor.name, at: at ?? isoNow(clock) })
    await deleteTag(tx, of, tag)
    // an earlier push that is approved later must not set it again
    await removeWaitingTag(tx, of, { tag })
  }

  return {
    set: (change, actor) =>
      db.tx(async tx => {
        const { of, tag, version } = change
        await lockTags(tx, of)
        const before = (await readTag(tx, ALL_SEEING, of, tag))?.version
        const named = version ?? before ?? fail('tag_not_found', { tag, name: of.name, codename: of.codename })
        const manifest =
          (await findVersion(tx, ALL_SEEING, { ...of, version: named })) ??
          fail('version_not_found', { name: of.name, version: named })
        if ((await change.unless?.(tx)) === true || before === version) return { outcome: 'already', manifest }
        await write(tx, change, actor)
        await audit.owe(tx, tagged({ of, tag, before, after: version }, actor))
        await oweTags(tx, outbox, of)
        const outcome = version === undefined ? 'deleted' : before === undefined ? 'created' : 'changed'
        return { outcome, manifest, isQuiet: true }
      }),
    lock: lockTags,
    async removeWith(tx, ref, actor) {
      if ((await findVersion(tx, ALL_SEEING, ref)) !== undefined) return
      const gone = await deleteTagsOf(tx, ref)
      if (gone.length === 0) return
      for (const { tag, version } of gone) {
        const move = { of: ref, tag, before: version, after: undefined, why: 'That version was deleted.' }
        await audit.owe(tx, tagged(move, actor))
      }
      await oweTags(tx, outbox, ref)
    },
  }
}
