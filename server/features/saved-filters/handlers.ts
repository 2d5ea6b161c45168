import { ownName } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Db } from '../../db/db.ts'
import type { savedFilters } from './contract.ts'
import { deleteFilter, insertFilter, listFilters, lockPerson, updateFilter, type SavedFilter } from './store.ts'

export interface SavedFilterDeps {
  readonly db: Db
}

/** Of all lists together; the table stays small whoever writes to it. */
const MOST = 100

const view = (filter: SavedFilter) => ({ ...filter, created_at: filter.created_at.toISOString() })

/** @throws filter_exists where another filter of the same list has the name, in any case of its letters */
function needNewName(all: readonly SavedFilter[], { id, screen, name }: Partial<SavedFilter> & { name: string }): void {
  const isTaken = all.some(
    one => one.id !== id && one.screen === screen && one.name.toLowerCase() === name.toLowerCase(),
  )
  if (isTaken) fail('filter_exists', { name })
}

export const savedFilterHandlers: Handlers<typeof savedFilters, SavedFilterDeps> = {
  'GET /saved-filters': async ({ db }, { who }) => ({
    filters: who.kind === 'user' ? (await listFilters(db, who.name)).map(view) : [],
  }),
  'POST /saved-filters': async ({ db }, { who, body: { screen, name, query } }) => {
    const username = ownName(who)
    return db.tx(async tx => {
      await lockPerson(tx, username)
      const all = await listFilters(tx, username)
      needNewName(all, { screen, name })
      if (all.length >= MOST) fail('too_many_filters', { most: MOST })
      return view(await insertFilter(tx, { username, screen, name, query }))
    })
  },
  'PATCH /saved-filters/{id}': async ({ db }, { who, params, body: { name, query } }) => {
    const username = ownName(who)
    return db.tx(async tx => {
      await lockPerson(tx, username)
      const all = await listFilters(tx, username)
      const was =
        all.find(({ id }) => id === params.id) ?? fail('filter_not_found', { filter_id: params.id.slice(0, 80) })
      const next = { ...was, name: name ?? was.name, query: query ?? was.query }
      needNewName(all, next)
      await updateFilter(tx, next)
      return view(next)
    })
  },
  'DELETE /saved-filters/{id}': async ({ db }, { who, params }) => {
    if (!(await deleteFilter(db, ownName(who), params.id)))
      fail('filter_not_found', { filter_id: params.id.slice(0, 80) })
    return { message: 'The filter is removed.' }
  },
}
