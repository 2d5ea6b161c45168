import type { Codename, FormatId, PackageIdentity, RelPath } from '../../core/identity.ts'

/** What became of one package of an import. `waiting` is the only one that is not an end. */
export const ITEM_STATES = [
  'waiting',
  'added',
  'already',
  'pending_review',
  'blocked',
  'upstream_changed',
  'failed',
] as const
export type ItemState = (typeof ITEM_STATES)[number]

/** A package that an import brings: where its file lies, and what it waits for. */
export interface Planned {
  readonly identity: PackageIdentity
  readonly sourceId: number
  readonly sourceKey: string
  readonly component?: string
  /** Below the source's base. */
  readonly path: RelPath
  readonly size: number
  readonly digests: Readonly<Partial<Record<'sha256' | 'sha512', string>>>
  readonly controlSha1?: string
  /** Somebody asked for it by name. */
  readonly isRoot: boolean
  /** Places in the plan of what it needs directly; smaller than its own but for cycles. */
  readonly needs: readonly number[]
  /** A need of it that nothing meets, in one sentence. */
  readonly lacks?: string
  /** It is published here with other bytes, so it does not come: what that means, in sentences. */
  readonly changed?: string
}

/** A planned package of a job, as it is kept. */
export interface Item extends Planned {
  readonly id: number
  readonly seq: number
  readonly format: FormatId
  readonly codename: Codename
  readonly state: ItemState
  readonly why?: string
}

/** Whether clients get it once the job is over. */
export const isThere = (state: ItemState): boolean => state === 'added' || state === 'already'
