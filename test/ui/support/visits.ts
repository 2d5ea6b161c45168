import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { ADMIN, nextAddress } from '../../support/daemon.ts'
import { axeProblems, launch, openPage, tooWide } from './browser.ts'

/** Of everybody whom a suite adds. */
export const PASSWORD = 'Harbour-Lantern-88'

/**
 * A browser for this suite and, for each test, a page of its own at the daemon, from an address of its own; call it
 * inside `describe`. A policy violation, an error of ours or a failed load fails the test, whatever else it did.
 * @param url   where the daemon is, asked when a test begins
 * @param take  gets each page
 */
export function visits(url: () => string, take: (page: Page) => void): { readonly browser: Browser } {
  let browser: Browser
  let opened: Awaited<ReturnType<typeof openPage>>
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
  })
  beforeEach(async () => {
    opened = await openPage(browser, url(), { address: nextAddress() })
    take(opened.page)
  })
  afterEach(async () => {
    await opened.context.close()
    expect(opened.complaints).toEqual([])
  })
  return {
    get browser() {
      return browser
    },
  }
}

/** Fills in the form of a page that shows it. */
export async function givePassword(
  page: Page,
  name: string = ADMIN.username,
  password: string = name === ADMIN.username ? ADMIN.password : PASSWORD,
): Promise<void> {
  await page.getByLabel('User name').fill(name)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Opens an address of the console, signs in, and waits for the screen. */
export async function signInAt(
  page: Page,
  url: string,
  ...who: readonly [name?: string, password?: string]
): Promise<void> {
  await page.goto(url)
  await givePassword(page, ...who)
  await page.locator('.bar h1').waitFor()
}

/** Waits until the address is drawn and nothing on it is being read any more. */
export async function settled(page: Page): Promise<void> {
  // the change of an address is heard a moment after it was made
  await page.evaluate(
    () =>
      new Promise(resolve => {
        requestAnimationFrame(() => requestAnimationFrame(resolve))
      }),
  )
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** No serious axe finding, and nothing is wider than the window. */
export async function expectFine(page: Page): Promise<void> {
  expect([await axeProblems(page), await tooWide(page)]).toEqual([[], 0])
}
