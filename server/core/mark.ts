import type { Iso } from './identity.ts'

/** What people say of a published version beside its files. Nothing of it: no mark. */
export interface Mark {
  /** What installing it warns of. */
  readonly deprecated?: string
  /** Why clients pass it over. */
  readonly yanked?: { readonly reason: string }
}

/** What clients call a version that they should leave: passed over unless it is pinned, or warned of when installed. */
export const MARK_KINDS = ['yanked', 'deprecated'] as const
export type MarkKind = (typeof MARK_KINDS)[number]

/** The mark of a version, in the word of its clients. */
export interface SaidMark {
  readonly kind: MarkKind
  readonly reason: string
}

/** Who brought a mark from another installation: `source:bundle-hub`. */
export interface MarkBringer {
  readonly by: string
  readonly at: Iso
}

/** Whether a mark was brought, and not set by a person here. */
export const isBrought = (by: string | undefined): boolean => by?.startsWith('source:bundle-') === true
