import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { axeProblems, tooWide } from '../ui/support/browser.ts'
import type { Harness } from './harness.ts'

/** What a person does at the window of the desktop program over and over. */
export interface Person {
  button(name: string | RegExp): Locator
  inDialog(name: string): Locator
  heading(name: string | RegExp): Locator
  /** Pastes an address, and waits for the comparison. */
  look(address: string): Promise<void>
  /** Ticks the four rows of the fingerprint with the keyboard. */
  compareRows(): Promise<void>
  /** Gives name and password, whatever comes then. */
  givePassword(who: { readonly username: string; readonly password: string }): Promise<void>
  /** No serious finding of axe, nothing wider than the window. `SHOTS=/tmp/x` keeps pictures under this name. */
  looksWell(name: string): Promise<void>
}

/** As the window is, then wide and narrow in the dark. */
async function photograph(page: Page, path: string): Promise<void> {
  const size = page.viewportSize()
  mkdirSync(dirname(path), { recursive: true })
  await page.screenshot({ path: `${path}.png` })
  await page.emulateMedia({ colorScheme: 'dark' })
  for (const width of [1440, 420]) {
    await page.setViewportSize({ width, height: 900 })
    await page.screenshot({ path: `${path}-${width}-dark.png` })
  }
  await page.emulateMedia({ colorScheme: 'light' })
  if (size !== null) await page.setViewportSize(size)
}

/** @param harness  asked each time: it is started after the suite was read */
export function personAt(harness: () => Harness): Person {
  const page = (): Page => harness().page
  const button = (name: string | RegExp): Locator => page().getByRole('button', { name }).first()
  const heading = (name: string | RegExp): Locator => page().getByRole('heading', { name })
  return {
    button,
    heading,
    inDialog: name => page().getByRole('dialog').getByRole('button', { name, exact: true }),
    look: async address => {
      await page().getByLabel('Or paste the address').fill(address)
      await button('Continue').click()
      await heading('Is this your appliance?').waitFor()
    },
    compareRows: async () => {
      for (let row = 1; row <= 4; row++) {
        await page()
          .getByRole('checkbox', { name: new RegExp(`^Row ${row}`) })
          .focus()
        await page().keyboard.press('Space')
      }
      await page().getByText('to go').waitFor({ state: 'detached' })
    },
    givePassword: async ({ username, password }) => {
      await page().getByLabel('User name').fill(username)
      await page().getByLabel('Password', { exact: true }).fill(password)
      await button('Sign in').click()
    },
    looksWell: async name => {
      const shots = process.env.SHOTS
      if (shots !== undefined) await photograph(page(), join(shots, name))
      expect(await axeProblems(page()), name).toEqual([])
      expect(await tooWide(page()), name).toBe(0)
    },
  }
}
