import type { Page } from 'playwright-core'

/** How high the rows of each table on the page are: its name, how many, the lowest, middle and highest in pixels. */
export function rowHeights(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('table')].flatMap(table => {
      const heights = [...table.querySelectorAll('tbody tr')]
        .map(row => row.getBoundingClientRect().height)
        .filter(height => height > 0)
        .toSorted((a, b) => a - b)
        .map(Math.round)
      const name = table.getAttribute('aria-label') ?? table.caption?.textContent?.trim() ?? table.className
      return heights.length === 0
        ? []
        : [`${name}: ${heights.length} rows, ${heights[0]}, ${heights[heights.length >> 1]}, ${heights.at(-1)} px`]
    }),
  )
}
