import type { Iso } from './identity.ts'

/** What people say of a published version beside its files. Nothing of it: no mark. */
export interface Mark {
  /** What installing it warns of. */
  readonly deprecated?: string
  /** Why clients pass it over. */
  readonly yanked?: { readonly reason: string }
}

/** Who brought a mark from another installation: `source:bundle-hub`. */
export interface MarkBringer {
  readonly by: string
  readonly at: Iso
}

/** Whether a mark was brought, and not set by a person here. */
export const isBrought = (by: string | undefined): boolean => by?.startsWith('source:bundle-') === true
