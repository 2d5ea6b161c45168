import { phrase } from '../../show.ts'
import type { Reply } from '../../wire.ts'
import { STATES } from '../../words.ts'

/** A version that clients of a proxy do not get. */
export type HiddenVersion = Reply<'GET /registries/{name}/hidden'>['hidden'][number]
/** A version that a person lets through. */
export type Waiver = Reply<'GET /registries/{name}/waivers'>['waivers'][number]

/** Why a version is hidden, in a word. */
export const HIDDEN: Readonly<
  Record<string, { readonly word: string; readonly icon: string; readonly tone: string }>
> & {
  readonly blocked: { readonly word: string; readonly icon: string; readonly tone: string }
} = {
  malicious: { ...STATES.quarantined, word: phrase('malicious') },
  blocked: { ...STATES.rejected, word: phrase('blocked by the policy') },
  review: { ...STATES.pending_review, word: phrase('review wanted') },
  license: { ...STATES.pending_review, word: phrase('forbidden licence') },
  lookalike: { ...STATES.pending_review, word: phrase('name looks like yours') },
  young: { ...STATES.pending_review, word: phrase('too young') },
  here: { ...STATES.pending_review, word: phrase('here and held') },
}

/** What became of the question for a name. */
export const ASKED: Readonly<Record<string, string>> = {
  answered: phrase('It answered.'),
  missing: phrase('It has no such name.'),
  failed: phrase('It could not be asked.'),
  refused: phrase('It gave no answer that is taken.'),
  reserved: phrase('It was not asked: the name belongs to this house.'),
}

/** The views of a proxy, in the order of their buttons. */
export const VIEWS: Readonly<Record<string, string>> = {
  packages: phrase('Packages'),
  hidden: phrase('Hidden'),
  waivers: phrase('Let through'),
  asked: phrase('Asked for'),
}
