import type { FormatId, PackageName } from '../core/identity.ts'
import { isServed, type Manifest } from '../core/manifest.ts'
import type { Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { markDirty, refreshArtifacts, type Mark } from './queries/store.ts'

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

/** A version before and after a change. */
export interface Step {
  readonly before: Manifest | undefined
  readonly after: Manifest | undefined
  /** The number of its row. */
  readonly id: number
  /** How much later the tree may follow, in ms; absent: at once. */
  readonly publishWithinMs?: number | undefined
}

const movesTree = ({ before, after }: Pick<Step, 'before' | 'after'>): boolean =>
  (before !== undefined && isServed(before.state)) !== (after !== undefined && isServed(after.state))

/**
 * `together`: the manifest files of all steps are one debt, over the numbers of their rows, which costs a hundredth of
 * one each. Rows of others between them are only written once more.
 */
export interface Bundling {
  readonly manifests: 'together'
}

/** The kind of debt for the manifest files of many rows: `manifests:<first>-<last>`. */
export const MANIFESTS = 'manifests'

/**
 * Owes to the files what follows when each `before` becomes its `after`, in the same transaction.
 * @returns the publications that were asked for, in the order of the steps; undefined where none is needed
 */
export async function oweEffects(
  tx: Tx,
  { outbox, hasTree }: { readonly outbox: Pick<Outbox, 'oweAll'>; readonly hasTree: HasTree },
  steps: readonly Step[],
  how?: Bundling,
): Promise<readonly (number | undefined)[]> {
  const owed = new Map<string, number>()
  const names = new Map<FormatId, Set<string>>()
  const dirty: Mark[] = []
  const publicationOf = steps.map(step => {
    const { before, after, id } = step
    const { ref, files, component } = (after ?? before) as Manifest
    if (how === undefined) owed.set(`manifest:${JSON.stringify(ref)}`, 0)
    if (before !== undefined) for (const { blob } of files) owed.set(`blob:${blob.sha256}`, 0)
    names.set(ref.format, (names.get(ref.format) ?? new Set()).add(ref.name))
    if (!movesTree(step) || !hasTree(ref.format)) return undefined
    dirty.push({ ref, id, component: component ?? '' })
    owed.set(`contents:${ref.codename}`, CONTENTS_DELAY_MS)
    const key = `publish:${ref.codename}`
    owed.set(key, Math.min(owed.get(key) ?? Infinity, step.publishWithinMs ?? COALESCE_MS))
    return key
  })
  if (how !== undefined && steps.length > 0) {
    const ids = steps.map(({ id }) => id)
    owed.set(`${MANIFESTS}:${Math.min(...ids)}-${Math.max(...ids)}`, 0)
  }
  for (const [format, these] of names) await refreshArtifacts(tx, format, [...these])
  await markDirty(tx, dirty)
  const asks = await outbox.oweAll(tx, owed)
  return publicationOf.map(key => (key === undefined ? undefined : asks.get(key)))
}
