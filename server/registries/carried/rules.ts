import type { Actor, Admit } from '../../catalog/change.ts'
import type { Iso, PackageRef } from '../../core/identity.ts'
import type { Mark } from '../../core/mark.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { CarriedVersion, WordFate } from '../../pipeline/registry-intake.ts'
import type { RegistryDeps } from '../deps.ts'
import type { RemoteEntry } from '../remote/reader.ts'

/** The files of a version in the order in which the gate takes them, and why it waits although nothing is wrong. */
export interface Prepared {
  readonly file: SpooledFile
  readonly heldFor?: string
}

/** A tag of a version that is here. */
export interface CarriedTag {
  readonly ref: PackageRef
  readonly tag: string
  /** When it was moved there. */
  readonly at: Iso
}

/** How tags of one format come in. */
export interface CarriedTags {
  /** Lets a tag wait for the approval of its version. */
  wait(deps: Pick<RegistryDeps, 'db' | 'catalog' | 'clock'>, tag: Omit<CarriedTag, 'at'>, actor: Actor): Promise<void>
  /**
   * What a registry that reads through says that a tag names.
   * @returns `done` where it says so from now on; why it does not where its upstream was asked later
   */
  list(deps: Pick<RegistryDeps, 'db' | 'clock'>, tag: CarriedTag): Promise<WordFate>
  /** Its tags are also those of the catalogue in a registry that reads through. */
  readonly areCatalogued: boolean
  /** After the tag was moved in the catalogue; absent: nothing. */
  moved?(deps: Pick<RegistryDeps, 'db'>, tag: Omit<CarriedTag, 'at'>): Promise<void>
}

/** How versions of one format come in that another installation carried here. */
export interface CarriedRules {
  /**
   * Compares the names and digests of the files with the version.
   * @throws bad_package where they are none of it
   */
  prepare(deps: Pick<RegistryDeps, 'db'>, carried: CarriedVersion): Promise<Prepared>
  /** What a registry that reads through shows of it, as if its upstream had listed it. */
  entryOf(change: Admit, mark: Mark): Promise<Pick<RemoteEntry, 'file' | 'facts' | 'full_document' | 'short_document'>>
  /** Of a mark, what such a registry keeps of a version. */
  markFacts(mark: Mark): Readonly<Record<string, unknown>>
  /** Present where versions have tags. */
  readonly tags?: CarriedTags
  /** What to do once it is in a hosted registry; absent: nothing. */
  after?(deps: Pick<RegistryDeps, 'db' | 'catalog'>, ref: PackageRef, carried: CarriedVersion): Promise<void>
}

/** A tag whose upstream was asked after it was moved there: what that said counts. */
export const laterAsked = (tag: string, at: Date): WordFate => ({
  outcome: 'stays',
  why: `Its upstream was asked for ${tag} later, on ${at.toISOString().slice(0, 10)}.`,
})
export const DONE: WordFate = { outcome: 'done', why: null }
export const ALREADY: WordFate = { outcome: 'already', why: null }
