import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextAddress, type Daemon } from '../support/daemon.ts'
import { axeProblems, launch, noBrowser, openPage, tooWide } from './support/browser.ts'
import { furnished, PLACES } from './support/places.ts'
import { readingProblems } from './support/reading.ts'
import { givePassword, settled } from './support/visits.ts'
import { walkWithTab } from './support/tab-walk.ts'

describe.skipIf(noBrowser !== undefined)('every screen', () => {
  let daemon: Daemon
  let browser: Browser
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-ui-every-'))
    browser = await launch()
    daemon = await furnished(folder)
  })
  afterAll(async () => {
    await browser?.close()
    await daemon?.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Signs in, goes to every place, and looks. */
  async function visitAll(
    how: { readonly theme: 'light' | 'dark'; readonly width: number },
    look: (page: Page, place: string) => Promise<readonly string[]>,
  ): Promise<void> {
    const { page, context, complaints } = await openPage(browser, daemon.url, { ...how, address: nextAddress() })
    const found: string[] = []
    const note = async (place: string): Promise<void> => {
      for (const problem of await look(page, place)) found.push(`${place} ${problem}`)
    }
    await page.getByLabel('User name').waitFor()
    await note('login')
    await givePassword(page)
    await page.locator('.bar h1').waitFor()
    for (const place of PLACES) {
      await page.goto(`${daemon.url}/${place}`)
      await page.locator('.bar h1, .wstep h1').first().waitFor()
      await page.waitForLoadState('load')
      await settled(page)
      await note(place)
    }
    await context.close()
    expect({ found, complaints }).toEqual({ found: [], complaints: [] })
  }

  test.each([
    ['light', 1440],
    ['dark', 720],
    ['light', 420],
  ] as const)(
    'has no serious axe finding, no policy violation and no sideways scrolling: %s, %d px',
    async (theme, width) => {
      await visitAll({ theme, width }, async page => [
        ...(await axeProblems(page)),
        ...((await tooWide(page)) > 0 ? ['is too wide'] : []),
      ])
    },
  )

  test('names all that a screen reader meets, and is walked through with Tab alone', async () => {
    await visitAll({ theme: 'light', width: 1440 }, async page => [
      ...(await readingProblems(page)),
      ...(await walkWithTab(page)),
    ])
  })
})
