import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, launch, noBrowser, openPage, tooWide } from './support/browser.ts'
import { settled } from './support/visits.ts'

const SCREENS = [
  '#/dashboard',
  '#/upload',
  '#/packages',
  '#/packages?pick=hello',
  '#/packages?pick=hello&tab=findings',
  '#/packages?pick=hello&tab=versions',
  '#/packages?pick=hello&tab=dependencies',
  '#/packages?q=nothing',
  '#/import',
  '#/import?tab=sources',
  '#/import?tab=sources&pick=jammy',
  '#/import?tab=keys',
  '#/import?tab=groups',
  '#/import?tab=adopt',
  '#/distributions',
  '#/users',
  '#/users?tab=tokens',
  '#/users?tab=groups',
  '#/users?tab=keys',
  '#/users?tab=roles',
  '#/audit',
  '#/audit?tab=decisions',
  '#/audit?q=nothing',
  '#/health',
  '#/inventory',
  '#/logs',
  '#/logs?level=ERROR&span=hour',
  '#/downloads',
  '#/downloads?as=table',
  '#/downloads?view=never',
  '#/profile',
  '#/setup',
]

describe.skipIf(noBrowser !== undefined)('every screen', () => {
  let daemon: Daemon
  let browser: Browser

  beforeAll(async () => {
    browser = await launch()
    daemon = await startDaemon()
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    for (const version of ['1.0', '1.1'])
      await daemon.upload(await buildDeb({ name: 'hello', version, fields: { Depends: 'libc6 (>= 2.34)' } }), { token })
  })
  afterAll(async () => {
    await browser?.close()
    await daemon?.close()
  })

  test.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 960],
    ['dark', 720],
  ] as const)(
    'has no serious axe finding, no policy violation and no sideways scrolling: %s, %d px',
    async (theme, width) => {
      const { page, context, complaints } = await openPage(browser, daemon.url, {
        theme,
        width,
        address: nextAddress(),
      })
      const found: string[] = []
      const look = async (name: string): Promise<void> => {
        for (const problem of await axeProblems(page)) found.push(`${name} ${problem}`)
        if ((await tooWide(page)) > 0) found.push(`${name} is too wide`)
      }
      await page.getByLabel('User name').waitFor()
      await look('login')
      await page.getByLabel('User name').fill(ADMIN.username)
      await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
      await page.keyboard.press('Enter')
      await page.locator('.bar h1').waitFor()
      for (const screen of SCREENS) {
        await page.goto(`${daemon.url}/${screen}`)
        await page.locator('.bar h1, .wstep h1').first().waitFor()
        await page.waitForLoadState('load')
        await settled(page)
        await look(screen)
      }
      await context.close()
      expect({ found, complaints }).toEqual({ found: [], complaints: [] })
    },
  )
})
