import type { Actor, Admit, Changed } from '../catalog/change.ts'
import type { Iso, PackageName, PackageRef, Sha256 } from '../core/identity.ts'
import type { Mark, MarkBringer } from '../core/mark.ts'
import type { Manifest } from '../core/manifest.ts'
import type { Distribution } from '../core/repository.ts'
import type { Tag } from '../core/tag.ts'
import type { SpooledFile } from '../files/spool.ts'

/** A version that another installation carried here. */
export interface CarriedVersion {
  readonly registry: Distribution
  readonly ref: PackageRef
  /** `together(main, beside)` where it has several files. */
  readonly file: SpooledFile
  readonly expectedSha256: Sha256
  /** When clients could get it there first. */
  readonly publishedAt: Iso | undefined
  readonly mark: Mark
  readonly from: Manifest['from']
  readonly actor: Actor
  /** Why it is held although nothing is wrong with it: what it needs is. */
  readonly heldFor?: string
  readonly publishWithinMs: number
  /** Throws where the bytes are another version than the list says. */
  readonly check: (change: Pick<Admit, 'manifest'>) => void
}

/** What became of a tag or a mark; `stays`: what is here counts. */
export interface WordFate {
  readonly outcome: 'done' | 'already' | 'stays' | 'waits' | 'refused'
  /** A sentence where it is not as it was carried. */
  readonly why: string | null
}

/** The way into registries for what another installation carries here: also into those that read through to others. */
export interface RegistryIntake {
  /**
   * Takes a version through the gate as a publish of its format does. Owns the file.
   * @throws name_is_ours, bad_package, and what `Gate.admit` throws
   */
  admit(carried: CarriedVersion, signal: AbortSignal): Promise<Changed>
  /** Lets a tag name a version that is here and published, unless somebody moved it later. */
  setTag(
    tagged: {
      readonly registry: Distribution
      readonly ref: PackageRef
      readonly tag: string
      readonly at: Iso
      /** Who brought it: `source:bundle-hub`. */
      readonly by: string
    },
    actor: Actor,
  ): Promise<WordFate>
  /**
   * Removes the tags of a name that `by` brought here until a moment and that are not among those that it has there.
   * Tags that somebody here set or moved stay, and so do all of a registry that reads through.
   * @returns the removed ones, each with the version that it named
   */
  keepTags(
    kept: {
      readonly registry: Distribution
      readonly of: PackageName
      readonly tags: readonly string[]
      readonly until: Iso
      readonly by: string
    },
    actor: Actor,
  ): Promise<readonly Pick<Tag, 'tag' | 'version'>[]>
  /** Says of a version that is here what is said of it there, unless somebody here said something else. */
  setMark(
    marked: {
      readonly registry: Distribution
      readonly ref: PackageRef
      readonly mark: Mark
      readonly from: MarkBringer
    },
    actor: Actor,
  ): Promise<WordFate>
}
