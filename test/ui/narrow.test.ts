import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { osvRecord, osvZip } from '../support/zip.ts'
import { noBrowser } from './support/browser.ts'
import { signInAt, visits } from './support/visits.ts'

/** Elements whose text is cut, or reaches into what stands beside them. */
const cut = (page: Page, selector: string): Promise<string[]> =>
  page
    .locator(selector)
    .evaluateAll(all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent ?? ''))

describe.skipIf(noBrowser !== undefined)('a window of 420 pixels', () => {
  let daemon: Daemon
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  beforeAll(async () => {
    daemon = await startDaemon()
    const token = await daemon.setupAdmin()
    const form = new FormData()
    const old = osvRecord('UBUNTU-CVE-2026-10001', [['Ubuntu:22.04:LTS', 'hello', '']], {
      modified: '2026-01-01T00:00:00Z',
    })
    form.set('file', new Blob([new Uint8Array(osvZip([old]))]), 'all.zip')
    await daemon.call('POST', '/security/database', { token, form })
    await daemon.stop()
    await daemon.restart() // Health looks at the data as it starts
  })
  afterAll(async () => {
    await daemon?.close()
  })
  async function open(at: string, heading: string): Promise<void> {
    await page.setViewportSize({ width: 420, height: 900 })
    await signInAt(page, `${daemon.url}/${at}`)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
  }
  /** The middles of the bar's parts, from its top. */
  const middles = (): Promise<number[]> =>
    page
      .locator('.bar > *')
      .evaluateAll(all => all.map(one => one.getBoundingClientRect()).map(({ top, height }) => top + height / 2))

  test.each([
    ['#/distributions', 'Distributions'],
    ['#/health', 'Health'],
    ['#/engines', 'Engines'],
  ])('the bar of %s is one line', async (at, heading) => {
    await open(at, heading)
    const [first = 0, ...others] = await middles()
    for (const other of others) expect(Math.abs(other - first)).toBeLessThan(8)
  })

  test('no warning on the dashboard is cut, and its end says what becomes of uploads', async () => {
    await open('#/dashboard', 'Dashboard')
    await page.getByText(/^The vulnerability data are .* Uploads are published with a warning\.$/).waitFor()
    expect(await cut(page, '.todo-row > *')).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    expect(await cut(page, '.todo-row > *')).toEqual([])
  })

  test('the tiles of severities do not reach into one another', async () => {
    await open('#/vulnerabilities', 'Vulnerabilities')
    await page.setViewportSize({ width: 380, height: 900 })
    await page.locator('.sevtile').first().waitFor()
    expect(await cut(page, '.sevtile')).toEqual([])
  })
})
