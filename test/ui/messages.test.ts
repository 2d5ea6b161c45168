import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { axeProblems, noBrowser } from './support/browser.ts'
import { signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('messages', () => {
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
    await daemon.setupAdmin()
  })
  afterAll(() => daemon?.close())

  test('tell what needs somebody, on every screen, and are new until they are read', async () => {
    await signInAt(page, `${daemon.url}/#/packages`, ADMIN.username, ADMIN.password)
    // no signing key was made yet, and the health report says so
    const bell = page.getByRole('button', { name: /^Messages, new: \d+$/ })
    await bell.click()
    const sheet = page.getByRole('dialog', { name: 'Messages' })
    await sheet.getByText('Signing key needs attention').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await sheet.getByRole('button', { name: 'Mark all as read' }).click()
    await page.getByRole('button', { name: 'Messages, none new' }).waitFor()
    await sheet.getByRole('heading', { name: 'Read' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Messages, none new' }).click()
    await sheet.getByRole('listitem').filter({ hasText: 'Signing key' }).getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Distributions' }).waitFor()
    expect(await sheet.isVisible()).toBe(false)
  })
})
