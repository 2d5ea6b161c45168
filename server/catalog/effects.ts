import type { FormatId, PackageName } from '../core/identity.ts'
import { isServed, type Manifest } from '../core/manifest.ts'
import type { Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { markDirty, refreshArtifact } from './queries/store.ts'

/** Whether a format has signed trees: where it has none, nothing is published. */
export type HasTree = (format: FormatId) => boolean

/** Contents follow packages later: they are large and change with every package. */
const CONTENTS_DELAY_MS = 30_000
/** Uploads that arrive within this time share a publication even when none is running. */
const COALESCE_MS = 25

/** The file with the tags of one package must be written again. */
export async function oweTags(tx: Tx, outbox: Outbox, { format, codename, name }: PackageName): Promise<void> {
  await outbox.owe(tx, `tags:${JSON.stringify({ format, codename, name })}`)
}

/**
 * Owes to the files what follows when `before` becomes `after`, in the same transaction.
 * @returns the publication that was asked for, undefined where none is needed
 */
export async function oweEffects(
  tx: Tx,
  { outbox, hasTree }: { readonly outbox: Outbox; readonly hasTree: HasTree },
  { before, after }: { readonly before: Manifest | undefined; readonly after: Manifest | undefined },
): Promise<number | undefined> {
  const { ref, files } = (after ?? before) as Manifest
  await outbox.owe(tx, `manifest:${JSON.stringify(ref)}`)
  if (before !== undefined) for (const { blob } of files) await outbox.owe(tx, `blob:${blob.sha256}`)
  await refreshArtifact(tx, ref)
  const [was, is] = [before, after].map(one => one !== undefined && isServed(one.state))
  if (was === is || !hasTree(ref.format)) return undefined
  await markDirty(tx, ref, (after ?? before)?.component ?? '')
  await outbox.owe(tx, `contents:${ref.codename}`, { delayMs: CONTENTS_DELAY_MS })
  return outbox.owe(tx, `publish:${ref.codename}`, { delayMs: COALESCE_MS })
}
