import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { Done, listed, Time } from '../../core/schemas.ts'
import { UNSEEN } from '../../core/unseen.ts'

/** Lists of the console that can be narrowed, by the path of their screen. */
export const FILTERED_SCREENS = [
  'packages',
  'review',
  'vulnerabilities',
  'audit',
  'jobs',
  'downloads',
  'inventory',
  'logs',
  'import',
] as const
export type FilteredScreen = (typeof FILTERED_SCREENS)[number]

const Screen = listed<FilteredScreen>(FILTERED_SCREENS)
const Name = Type.String({
  minLength: 1,
  maxLength: 60,
  pattern: `^[^\\s${UNSEEN}]([^${UNSEEN}]*[^\\s${UNSEEN}])?$`,
  rule: 'one line of at most 60 characters, without a space at its ends',
})
const Query = Type.Record(Type.String({ pattern: '^[a-z_]{1,32}$' }), Type.String({ minLength: 1, maxLength: 400 }), {
  additionalProperties: false,
  maxProperties: 20,
  description: "What narrows and orders the list, as the query of the console's address. It is kept as it is.",
})

const SavedFilter = Type.Object({
  id: Type.String(),
  screen: Screen,
  name: Type.String(),
  query: Type.Record(Type.String(), Type.String()),
  created_at: Time,
})

/** One's own filters of the console's lists. */
export const savedFilters = contract({
  'GET /saved-filters': {
    summary: "Lists the caller's own saved filters by their names.",
    access: 'any',
    reply: Type.Object({ filters: Type.Array(SavedFilter) }),
  },
  'POST /saved-filters': {
    summary: 'Keeps a filter of a list under a name, for the caller alone.',
    access: 'any',
    status: 201,
    body: Type.Object({ screen: Screen, name: Name, query: Query }),
    reply: SavedFilter,
    fails: ['no_account', 'filter_exists', 'too_many_filters'],
  },
  'PATCH /saved-filters/{id}': {
    summary: "Renames one of the caller's own saved filters, or changes what it narrows to.",
    access: 'any',
    body: Type.Object({ name: Type.Optional(Name), query: Type.Optional(Query) }),
    reply: SavedFilter,
    fails: ['no_account', 'filter_not_found', 'filter_exists'],
  },
  'DELETE /saved-filters/{id}': {
    summary: "Removes one of the caller's own saved filters.",
    access: 'any',
    reply: Done,
    fails: ['no_account', 'filter_not_found'],
  },
})
