/** What is open beside a list is none of it. */
const ROWS = /* @wc-ignore */ 'main table > tbody > tr:not(.gap, .group)'

/** The rows of the lists in sight, in their order. */
function rowsInSight(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(ROWS)].filter(
    row => row.closest('.drawer') === null && row.checkVisibility(),
  )
}

const linkOf = (row: Element): HTMLElement | null => row.querySelector('a.main, a[href]')

export const hasRows = (): boolean => rowsInSight().length > 0
/** Whether a row leads somewhere. */
export const hasRowLinks = (): boolean => rowsInSight().some(row => linkOf(row) !== null)

/** Gives the focus to the next row or the one before; Tab goes on to what can be done with it. */
export function moveRow(by: 1 | -1): void {
  const rows = rowsInSight()
  const at = rows.findIndex(row => row.contains(document.activeElement))
  const next = rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)]
  if (next === undefined) return
  next.tabIndex = -1
  next.focus({ preventScroll: true })
  next.scrollIntoView({ block: 'nearest' })
}

/** Follows the link of the row that has the focus. */
export function openRow(target: EventTarget | null): boolean {
  const link = target instanceof HTMLTableRowElement ? linkOf(target) : null
  link?.click()
  return link !== null
}

/** The search field of the page. */
export function searchField(): HTMLInputElement | undefined {
  return [...document.querySelectorAll<HTMLInputElement>('[data-search]')].find(one => one.checkVisibility())
}
