import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { ListedFile } from '../formats/tree.ts'
import { writeAtomic } from '../lib/atomic.ts'
import type { Pieces } from './indexes.ts'

/**
 * A package file that generation `n` no longer lists. It stays in the tree for an hour after `at`, and for as long as
 * an earlier generation is kept: a client may read that one, and a rollback may list it again.
 */
export interface UnlistedFile {
  readonly path: string
  readonly at: string
  readonly n: number
}

/**
 * What a generation was made of: `trees/<codename>/<n>.json`, beside its folder. The next one is built from the
 * difference. A lost or damaged state costs a full rebuild and nothing else.
 */
export interface GenerationState {
  readonly schema: 3
  readonly n: number
  readonly at: string
  /** Pieces by index, in the order in which their packages came. */
  readonly pieces: Pieces
  readonly entries: number
  /** Every file the root names. */
  readonly files: readonly ListedFile[]
  /**
   * Those of `files` that follow at their own pace, file lists and advisories: carried from generation to generation
   * until a new one is made.
   */
  readonly contents: readonly ListedFile[]
  /** Files that stay in the tree for now though no index lists them. */
  readonly graves: readonly UnlistedFile[]
  /** Clients accept the root until then; absent: for ever. */
  readonly validUntil?: string
  /** The published files of each index, by its id, so that the next generation can reuse unchanged ones. */
  readonly made: Readonly<Record<string, readonly ListedFile[]>>
  /** The keys that signed it. */
  readonly signed_by: string
  /** The earlier generation it is a return to, where an admin rolled back. */
  readonly from?: number
}

/** When the live root was made, and until when clients accept it. */
export interface RootDates {
  readonly at: Date
  readonly until?: Date
}

export const stateFile = (layout: Pick<Layout, 'trees'>, codename: Codename, n: number): string =>
  join(layout.trees, codename, `${n}.json`)

/** Reads the state of a generation; undefined when it is lost. */
export async function readState(
  layout: Pick<Layout, 'trees'>,
  codename: Codename,
  n: number,
): Promise<GenerationState | undefined> {
  try {
    const state = JSON.parse(await readFile(stateFile(layout, codename, n), 'utf8')) as GenerationState
    return state.schema === 3 && state.n === n ? state : undefined
  } catch {
    return undefined // missing or torn: the tree is built again from the database
  }
}

/** Writes the state of a generation, whole or not at all. */
export async function writeState(
  layout: Pick<Layout, 'trees'>,
  codename: Codename,
  state: GenerationState,
): Promise<void> {
  await writeAtomic(stateFile(layout, codename, state.n), `${JSON.stringify(state)}\n`)
}
