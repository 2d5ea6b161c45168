import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeKey, readPrivateKey, signRelease } from '../../electron/pack/sign.ts'
import { createAuthority, type Authority } from '../support/authority.ts'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { startTlsFront, type TlsFront } from '../support/tls-front.ts'
import { launch, noBrowser } from '../ui/support/browser.ts'
import { startHarness, type Harness } from './harness.ts'
import { personAt } from './person.ts'

describe.skipIf(noBrowser !== undefined)('the list of appliances in the window', () => {
  let browser: Browser
  let authority: Authority
  let daemon: Daemon
  let fronts: TlsFront[]
  let harness: Harness
  /** The vendor's own folder, with the key. */
  let keys: string
  const page = (): Page => harness.page
  const { button, givePassword, heading, inDialog, look, looksWell } = personAt(() => harness)

  beforeAll(async () => {
    ;[authority, daemon, browser] = await Promise.all([createAuthority(), startDaemon(), launch()])
    await daemon.setupAdmin()
    fronts = await Promise.all([0, 1, 2].map(async () => startTlsFront(daemon.url, await authority.issue())))
    keys = await mkdtemp(join(tmpdir(), 'gh-vendor-'))
    const releaseKey = await makeKey(join(keys, 'release.key'))
    const path = join(keys, 'gatehouse-desktop_9.0.0_amd64.deb')
    await writeFile(path, 'the next version of the program')
    await signRelease(
      { version: '9.0.0', notes: 'Fewer words.', releasedAt: new Date(), files: [{ platform: 'linux-x64', path }] },
      await readPrivateKey(join(keys, 'release.key')),
      join(daemon.root, 'console', 'releases'),
      releaseKey,
    )
    harness = await startHarness(browser, { around: { releaseKey } })
    for (const [n, name] of ['gatehouse-01', 'gatehouse-stage'].entries()) {
      const seen = await harness.program.home('connections.look', { address: fronts[n]?.origin ?? '' })
      const facts = { name, colour: 'ochre', environment: '', by: 'fingerprint' } as const
      await harness.program.home('connections.trust', { look: seen.look, ...facts })
    }
  })
  afterAll(async () => {
    await harness?.close()
    await browser?.close()
    await Promise.all([...fronts.map(front => front.close()), daemon.close(), authority.close()])
    await rm(keys, { recursive: true, force: true })
  })

  test('an address that is none is refused where it was typed', async () => {
    await page().getByLabel('Or paste the address').fill('http://gatehouse-01')
    await page().keyboard.press('Enter')
    await page().getByText('The console speaks https only').waitFor()
  })

  test('name, colour and place are changed, preferences switched, and one is removed', async () => {
    await page().keyboard.press('Control+0')
    await button(/^Edit.*gatehouse-stage/).click()
    await looksWell('edit')
    await page().getByLabel('Call it').fill('stage')
    await inDialog('Up').click()
    await inDialog('Save').click()
    await expect.poll(() => page().locator('.conn b').allInnerTexts()).toEqual(['stage', 'gatehouse-01'])
    await button('Preferences').click()
    await page().getByLabel('A package waits for review').uncheck()
    await looksWell('preferences')
    await expect
      .poll(async () => (await harness.program.home('host.describe', {})).preferences.notices.held)
      .toBe(false)
    await inDialog('Close').click()
    await button(/^Edit.*stage/).click()
    await inDialog('Remove').click()
    await inDialog('Remove it').click()
    await expect.poll(() => page().locator('.conn b').allInnerTexts()).toEqual(['gatehouse-01'])
  })

  test('a newer version of the program that lies on an appliance is offered there, and fetched from it', async () => {
    await page().keyboard.press('Control+1')
    await givePassword(ADMIN)
    await heading('Dashboard').waitFor()
    await page().getByText('Version 9.0.0 of this program lies on this appliance.').waitFor()
    await looksWell('release')
    await button(/^Fetch it/).click()
    await page().getByText('Its signature is good.').waitFor()
    await looksWell('release-fetched')
    await page().keyboard.press('Control+0')
    await heading('Appliances').waitFor()
  })

  test('the menu and the messages of the system speak as the page does', async () => {
    const speak = async (language: string): Promise<void> => {
      await page().evaluate(name => localStorage.setItem('gatehouse.language', name), language)
      await page().reload()
    }
    await speak('de')
    await expect.poll(() => harness.program.tray.words.open).toBe('Gatehouse öffnen')
    expect(harness.program.desktop.words()).toMatchObject({
      held_several: '# Pakete warten auf Prüfung',
      full_screen: 'Vollbild',
    })
    await speak('en')
    await expect.poll(() => harness.program.tray.words.open).toBe('Open Gatehouse')
    await heading('Appliances').waitFor()
  })

  test('dark, and on a narrow window', async () => {
    await button('Dark').click()
    await looksWell('list-dark')
    await look(fronts[2]?.origin ?? '')
    await looksWell('trust-dark')
    await page().setViewportSize({ width: 420, height: 900 })
    await looksWell('trust-narrow')
    await button('Cancel').click()
    await looksWell('list-narrow')
  })

  test('nothing was refused by the policy, and no error was met', () => {
    expect(harness.complaints).toEqual([])
  })
})
