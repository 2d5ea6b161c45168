import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../support/clamd.ts'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, EICAR } from '../support/packages.ts'
import { axeProblems, dropFiles, noBrowser } from './support/browser.ts'
import { signInAt, visits } from './support/visits.ts'

const SETUP_TOKEN = 'K7MQR2XD9HVT'

describe.skipIf(noBrowser !== undefined)('the console at a guarded instance', () => {
  let daemon: Daemon
  let clamd: TestClamd | undefined
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )

  beforeAll(async () => {
    clamd = hasClamd ? await startClamd() : undefined
    daemon = await startDaemon({ env: { SETUP_TOKEN, CLAMD_SOCKET: clamd?.address.socket } })
  })
  afterAll(async () => {
    await daemon?.close()
    await clamd?.close()
  })

  async function upload(name: string, bytes: Buffer): Promise<void> {
    await signInAt(page, `${daemon.url}/#/upload`)
    await dropFiles(page, 'body', [{ name, bytes }])
  }

  test('asks for the setup token, says when it is wrong, and goes on with the right one', async () => {
    await page.getByLabel('Setup token').fill('wrong')
    await page.getByLabel('User name').fill(ADMIN.username)
    await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await page.getByRole('textbox', { name: 'Password again' }).fill(ADMIN.password)
    await page.getByRole('button', { name: 'Create and continue' }).click()
    await page.getByText('This is not the setup token of this server.').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.getByLabel('Setup token').fill(SETUP_TOKEN)
    await page.getByRole('button', { name: 'Create and continue' }).click()
    await page.getByRole('heading', { level: 1, name: 'Where do clients reach this server?' }).waitFor()
    await page.getByRole('button', { name: 'Go to the dashboard' }).click()
    await page.getByText('No repository is set up yet.').waitFor() // and the dashboard knows where to go on
    await daemon.call('POST', '/distributions/init', { token: await daemon.setupAdmin(), body: { codename: 'jammy' } })
  })

  test.skipIf(!hasClamd)(
    'shows malware as quarantined, at the step that found it, and clients never see it',
    async () => {
      await upload('bad_1_amd64.deb', await buildDeb({ name: 'bad', version: '1', files: { 'usr/bin/bad': EICAR } }))
      const drawer = page.getByRole('complementary', { name: /The gate for/ })
      await drawer.getByText('It is in quarantine. Clients do not see it.').last().waitFor()
      expect(await drawer.getByRole('listitem').filter({ hasText: 'Antivirus' }).getByLabel('Failed').count()).toBe(1)
      expect(await axeProblems(page)).toEqual([])
      await drawer.getByRole('link', { name: 'See the reason' }).click()
      await page.getByText('It is in quarantine. Clients do not see it.').first().waitFor()
      await page.getByRole('tab', { name: 'Findings' }).click()
      await page.getByText('This is not the same as clean.').waitFor() // the step after the one that failed never ran
      expect((await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text).not.toContain(
        'Package: bad',
      )
    },
  )

  test.skipIf(!hasClamd)('a step that runs turns, and nothing moves for those who ask for less motion', async () => {
    const moving = (): Promise<string[]> =>
      page.evaluate(() =>
        document
          .getAnimations()
          .filter(one => one.playState === 'running')
          .map(one => (one instanceof CSSAnimation ? one.animationName : 'transition')),
      )
    const running = page.locator('.gate .r').first()
    clamd?.pause()
    try {
      await upload('slow_1_amd64.deb', await buildDeb({ name: 'slow', version: '1' }))
      await running.waitFor()
      await expect.poll(moving).toEqual([])
      await page.emulateMedia({ reducedMotion: 'no-preference' })
      await expect.poll(moving).toContain('spin')
      await page.goto(`${daemon.url}/#/dashboard`)
      await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor()
      await page.emulateMedia({ reducedMotion: 'reduce' })
      await expect.poll(moving).toEqual([])
      await page.goto(`${daemon.url}/#/upload`)
      await running.waitFor()
      await expect.poll(moving).toEqual([])
    } finally {
      clamd?.resume()
    }
    await page.getByText('1 published').or(page.getByText('1 held')).first().waitFor()
  })

  test('a limit pauses the queue, counts down and goes on by itself', async () => {
    let asked = 0
    await page.route('**/upload/stream', route =>
      asked++ > 0
        ? route.continue()
        : route.fulfill({
            status: 429,
            headers: { 'retry-after': '2' },
            contentType: 'application/json',
            body: JSON.stringify({
              detail: {
                error: 'rate_limit_exceeded',
                message: 'More than 20 requests a minute.',
                limit: 20,
                retry_after: 2,
              },
              code: 'rate_limited',
            }),
          }),
    )
    await upload('later_1_amd64.deb', await buildDeb({ name: 'later', version: '1' }))
    await page.getByText('Paused by the limit of 20 uploads a minute.').waitFor()
    await page.getByText('1 file waits, which takes about a minute at this pace.').waitFor()
    await page.getByRole('link', { name: 'Change the limit' }).waitFor()
    await page.getByText('1 published').or(page.getByText('1 held')).waitFor()
    expect(asked).toBe(2)
    expect(await page.getByText('Paused by the limit').count()).toBe(0)
  })

  test('a lost answer is not called a failure of the package, and the same file may be sent again', async () => {
    let asked = 0
    await page.route('**/upload/stream', route => (asked++ > 0 ? route.continue() : route.abort('connectionreset')))
    await upload('cut_1_amd64.deb', await buildDeb({ name: 'cut', version: '1' }))
    await page.getByRole('cell', { name: 'Cut off' }).waitFor()
    await page.getByRole('row', { name: /cut_1/ }).getByRole('button', { name: 'Try again' }).click()
    await page.getByText('1 published').or(page.getByText('1 held')).waitFor()
  })
})
