/** One page, as every list answers it. `page` counts from 1; `pages` is 0 when nothing was found. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
  readonly page: number
  readonly per_page: number
  readonly pages: number
}

/** The numbers of a page, for answers that have them beside it too. */
export type Numbers = Omit<Page<unknown>, 'items'>

export const numbersOf = ({ total, page, per_page, pages }: Page<unknown>): Numbers => ({
  total,
  page,
  per_page,
  pages,
})

/** Which page. */
export interface Paging {
  readonly page: number
  readonly perPage: number
}

/** One page of a list, as every list of the API answers. */
export function pageOf<T>(items: readonly T[], total: number, { page, perPage }: Paging): Page<T> {
  return { items, total, page, per_page: perPage, pages: Math.ceil(total / perPage) }
}

/** The page that a query asks for; by default the first one with `perPage` items. */
export function pagingOf(
  { page = 1, per_page: asked }: { readonly page?: number; readonly per_page?: number },
  perPage = 50,
): Paging {
  return { page, perPage: asked ?? perPage }
}
