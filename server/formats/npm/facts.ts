import { isBrought } from '../../core/mark.ts'
import type { Marking } from '../marking.ts'

/** The facts about a version that a packument needs beside its blob. */
export interface NpmFacts {
  /** What the registry says of this version in full: its package.json as JSON text, without `dist`. */
  readonly full: string
  /** The same for installing alone, with the fields of the abbreviated form. */
  readonly short: string
  /** Files in the tarball. */
  readonly fileCount: number
  /** Bytes of all of them. */
  readonly unpackedSize: number
  /** Words that a search finds it by. */
  readonly keywords: readonly string[]
  /** What installing it warns of; absent where it is not deprecated. */
  readonly deprecated?: string
  /** Where a bundle brought that; absent where somebody here said it. */
  readonly deprecatedBy?: string
  /** The tags that it was published with while clients do not get it: they name it once they do. */
  readonly wantedTags?: readonly string[]
}

/** Deprecated versions. Source: docs.npmjs.com, npm-deprecate */
export const marking: Marking<NpmFacts> = {
  kind: 'deprecated',
  read: ({ deprecated }) => (deprecated === undefined ? undefined : { kind: 'deprecated', reason: deprecated }),
  set(facts, mark) {
    if (facts.deprecated === mark?.reason && !isBrought(facts.deprecatedBy)) return facts
    const { deprecated: _, deprecatedBy: __, ...plain } = facts
    return mark === undefined ? plain : { ...plain, deprecated: mark.reason }
  },
  carry(facts, mark, { by }) {
    const { deprecated, deprecatedBy, ...plain } = facts
    if (deprecated === mark.deprecated) return facts
    if (deprecated !== undefined && !isBrought(deprecatedBy)) return undefined
    return mark.deprecated === undefined ? plain : { ...plain, deprecated: mark.deprecated, deprecatedBy: by }
  },
}
