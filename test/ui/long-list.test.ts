import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { axeProblems, noBrowser } from './support/browser.ts'
import { settled, signInAt, visits } from './support/visits.ts'

const TOTAL = 100_000
const PER_PAGE = 50
/** So many rows at most are in the document, in a window of 900 px. */
const FEW = 80

const packageAt = (at: number) => ({
  ...{ name: `pack-${String(at).padStart(6, '0')}`, version: '1.0', arch: 'amd64', distribution: 'jammy' },
  ...{ format: 'deb', kind: 'binary', status: 'published', warned: false, scanned: true, findings: 0, severity: null },
  // lines of different height
  ...{ summary: '', size: 1000 + at, updated_at: '2026-01-01T00:00:00Z', created_at: '2026-01-01T00:00:00Z' },
})

describe.skipIf(noBrowser !== undefined)('a list of 100,000 rows', () => {
  let daemon: Daemon
  let page: Page
  const asked: number[] = []
  beforeEach(() => {
    asked.length = 0
  })
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  beforeAll(async () => {
    daemon = await startDaemon()
    await daemon.setupAdmin()
  })
  afterAll(() => daemon?.close())

  const list = () => page.getByRole('region', { name: 'Package list' })
  const rows = () => page.locator('tbody tr[aria-rowindex]')
  const hash = (): string => new URL(page.url()).hash
  /** The rows that can be seen below the head of the table. */
  const seen = (): Promise<number[]> =>
    list().evaluate(box => {
      const [top, bottom] = [
        box.querySelector('th')?.getBoundingClientRect().bottom ?? 0,
        box.getBoundingClientRect().bottom,
      ]
      return [...box.querySelectorAll('tbody tr[aria-rowindex]')]
        .filter(row => {
          const { top: from, bottom: to } = row.getBoundingClientRect()
          return from >= top - 1 && to <= bottom + 1
        })
        .map(row => Number(row.getAttribute('aria-rowindex')) - 2)
    })
  /** Whether a place of rows that are not drawn can be seen. */
  const gapInSight = (): Promise<boolean> =>
    list().evaluate(box =>
      [...box.querySelectorAll('tr.gap')].some(gap => {
        const { top, bottom } = gap.getBoundingClientRect()
        const to = box.getBoundingClientRect()
        return bottom > (box.querySelector('th')?.getBoundingClientRect().bottom ?? to.top) + 1 && top < to.bottom - 1
      }),
    )
  async function open(at: string, total = TOTAL): Promise<void> {
    await page.route('**/api/v1/packages/?*', route => {
      const n = Number(new URL(route.request().url()).searchParams.get('page') ?? 1)
      asked.push(n)
      const items = Array.from({ length: Math.min(PER_PAGE, total - (n - 1) * PER_PAGE) }, (_, i) =>
        packageAt((n - 1) * PER_PAGE + i),
      )
      return route.fulfill({ json: { items, total, page: n, per_page: PER_PAGE, pages: Math.ceil(total / PER_PAGE) } })
    })
    await signInAt(page, `${daemon.url}/${at}`)
    await rows().first().waitFor()
    await settled(page)
  }

  test('scrolls to its end while the document stays small, and the address says where it is', async () => {
    await open('#/packages')
    expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(TOTAL + 1))
    expect((await seen())[0]).toBe(0)
    expect(await axeProblems(page)).toEqual([])
    await list().focus()
    await page.keyboard.press('End')
    await page.locator(`tr[aria-rowindex="${TOTAL + 1}"]`).waitFor()
    await expect.poll(hash).toBe(`#/packages?page=${TOTAL / PER_PAGE}`)
    await expect.poll(async () => (await seen()).at(-1)).toBe(TOTAL - 1)
    expect(await rows().count()).toBeLessThanOrEqual(FEW)
    expect(asked.length).toBeLessThan(20) // none of those between
    await page.keyboard.press('Home')
    await expect.poll(async () => (await seen())[0]).toBe(0)
    await expect.poll(hash).toBe('#/packages')
  })

  test('scrolled through, every row is seen once, in order, and never are many in the document', async () => {
    const total = 3 * PER_PAGE + 37
    await open('#/packages', total)
    await list().hover()
    const through: number[] = []
    for (let n = 0; through.at(-1) !== total - 1 && n < 100; n++) {
      const now = await seen()
      expect(now).toEqual(now.map((_, i) => (now[0] ?? 0) + i))
      expect(await rows().count()).toBeLessThanOrEqual(FEW)
      through.push(...now.filter(at => at > (through.at(-1) ?? -1)))
      await page.mouse.wheel(0, 500)
      await expect.poll(async () => (await seen()).at(-1) ?? 0).toBeGreaterThan(Math.min(now.at(-1) ?? 0, total - 2))
      await expect.poll(gapInSight).toBe(false)
    }
    expect(through).toEqual(Array.from({ length: total }, (_, at) => at))
    expect(new Set(asked).size).toBe(4)
    expect(asked.length).toBeLessThan(8) // none is asked for again and again
  })

  test('the row with the keyboard may be scrolled away, and the keys go on scrolling', async () => {
    await open('#/packages?page=3')
    await page.locator('tr[aria-rowindex="102"] a.main').focus()
    await list().hover()
    for (const _ of [1, 2, 3, 4]) await page.mouse.wheel(0, 900)
    await page.locator('tr[aria-rowindex="102"]').waitFor({ state: 'detached' })
    expect(await list().evaluate(box => box === document.activeElement)).toBe(true)
    await page.keyboard.press('Home')
    await expect.poll(async () => (await seen())[0]).toBe(0)
  })

  test('rows that come in around it do not move what is read', async () => {
    await open('#/packages?page=700')
    await expect.poll(async () => (await seen())[0]).toBe(699 * PER_PAGE)
    await page.locator('tr.gap').first().waitFor()
    await settled(page)
    expect((await seen())[0]).toBe(699 * PER_PAGE)
    expect(hash()).toBe('#/packages?page=700')
    await list().hover()
    await page.mouse.wheel(0, 400)
    await expect.poll(async () => (await seen())[0]).toBeGreaterThan(699 * PER_PAGE + 3)
    const [first] = await seen()
    await settled(page)
    expect((await seen())[0]).toBe(first)
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(async () => (await seen())[0]).toBe(700 * PER_PAGE)
    expect(hash()).toBe('#/packages?page=701')
  })

  test('paper has the rows that were read and says which; Ctrl F in the list leads to the field that searches all', async () => {
    await open('#/packages?page=3')
    await settled(page)
    await page.emulateMedia({ media: 'print' })
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
    expect(await rows().count()).toBe(3 * PER_PAGE)
    await page.getByText('Rows 51–200 of 100,000 are on this paper. An export has all of them.').waitFor()
    await page.evaluate(() => dispatchEvent(new Event('afterprint')))
    await page.emulateMedia({ media: 'screen' })
    expect(await rows().count()).toBeLessThanOrEqual(FEW)
    await list().focus()
    await page.keyboard.press('Control+f')
    expect(await page.getByRole('searchbox').evaluate(field => field === document.activeElement)).toBe(true)
  })

  test('the review queue scrolls through; what is ticked stays ticked out of sight, also on the next page', async () => {
    const total = 180
    const heldAt = (at: number) => ({
      ...{ ...packageAt(at), cves: [], counts: {}, reasons: ['No engine looked at it.'], since: null, kev: false },
      ...{
        epss: null,
        assigned_to: null,
        uploaded_by: 'ann',
        sla: { due_at: null, days_remaining: null, breached: false },
      },
    })
    await page.route('**/security/review-queue?*', route => {
      const asking = new URL(route.request().url()).searchParams
      const [n, per] = [Number(asking.get('page') ?? 1), Number(asking.get('per_page'))]
      const items = Array.from({ length: Math.max(0, Math.min(per, total - (n - 1) * per)) }, (_, i) =>
        heldAt((n - 1) * per + i),
      )
      const numbers = { total, page: n, per_page: per, pages: Math.ceil(total / per) }
      return route.fulfill({
        json: {
          blocked_count: 0,
          review_count: total,
          min_reason_chars: 10,
          packages: { items, ...numbers },
          ...numbers,
        },
      })
    })
    await signInAt(page, `${daemon.url}/#/review`)
    const queue = page.getByRole('region', { name: 'Queue' })
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.getByText('25 of 180 ticked').waitFor()
    await queue.focus()
    const last = page.locator(`tr[aria-rowindex="${total + 1}"]`)
    // the place for the decision has just made the rows higher
    await expect
      .poll(async () => {
        await page.keyboard.press('End')
        return last.isVisible()
      })
      .toBe(true)
    expect(await rows().count()).toBeLessThanOrEqual(FEW)
    await page.getByRole('checkbox', { name: /pack-000179/ }).check()
    await page.getByText('26 of 180 ticked').waitFor()
    await queue.focus()
    await page.keyboard.press('Home')
    await expect.poll(() => page.getByRole('checkbox', { name: /pack-000003 / }).isChecked()).toBe(true)
    await page.getByRole('checkbox', { name: /pack-000003 / }).uncheck()
    await page.getByText('25 of 180 ticked').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('tr[aria-rowindex="3"] a.main').focus()
    await page.keyboard.press('j')
    expect(await page.locator('tr[aria-rowindex="4"] a.main').evaluate(row => row === document.activeElement)).toBe(
      true,
    )
  })

  test('a press anywhere in a row opens it, and the keys go on over the end of a page', async () => {
    await open('#/packages?page=3')
    await expect.poll(async () => (await seen())[0]).toBe(100)
    await page.locator('tr.gap').first().waitFor()
    await settled(page)
    await page.locator('tr[aria-rowindex="102"]').getByText('jammy').click()
    await expect.poll(hash).toContain('pick=pack-000100')
    await page.keyboard.press('k')
    await expect.poll(hash).toContain('pick=pack-000099')
    await expect.poll(async () => (await seen()).includes(99)).toBe(true)
  })
})
