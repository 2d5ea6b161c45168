import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthority, type Authority } from '../support/authority.ts'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { startTlsFront, type TlsFront } from '../support/tls-front.ts'
import { dropFiles, launch, noBrowser } from '../ui/support/browser.ts'
import { code } from '../ui/support/people.ts'
import { startHarness, type Harness } from './harness.ts'
import { personAt } from './person.ts'

const FILE = 'dropped_1.0_amd64.deb'
const LATER = 'afterwards_1.0_amd64.deb'
const DEPUTY = { username: 'deputy', password: 'Correct-horse-8' }

describe.skipIf(noBrowser !== undefined)('the first day with the desktop program', () => {
  let browser: Browser
  let authority: Authority
  let impostor: Authority
  let fresh: Daemon
  let stage: Daemon
  let freshFront: TlsFront
  let stageFront: TlsFront
  let harness: Harness
  let folder: string
  let staged: string
  let secret: string
  let recovery: readonly string[]
  const page = (): Page => harness.page
  const { button, heading, inDialog, look, compareRows, givePassword, looksWell } = personAt(() => harness)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-first-day-'))
    const answers = join(folder, 'answers.json')
    const hole = { id: 'CVE-2026-1001', severity: 'high', summary: 'A hole.' }
    await writeFile(answers, JSON.stringify({ findings: { 'dropped 1.0': [hole] } }))
    ;[authority, impostor, fresh, stage, browser] = await Promise.all([
      createAuthority('first'),
      createAuthority('second'),
      startDaemon({
        entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
        env: { FAKE_ANSWERS: answers },
      }),
      startDaemon(),
      launch(),
    ])
    const stageToken = await stage.setupAdmin()
    await stage.call('POST', '/distributions/init', { token: stageToken, body: { codename: 'jammy' } })
    await stage.upload(await buildDeb({ name: 'staged', version: '1.0' }), { token: stageToken })
    staged = await indexOf(stage)
    freshFront = await startTlsFront(fresh.url, await authority.issue())
    stageFront = await startTlsFront(stage.url, await authority.issue())
    harness = await startHarness(browser)
  })
  afterAll(async () => {
    await harness?.close()
    await browser?.close()
    await Promise.all([freshFront?.close(), stageFront?.close(), fresh?.close(), stage?.close()])
    await Promise.all([authority?.close(), impostor?.close(), rm(folder, { recursive: true, force: true })])
  })

  test('begins with no appliance, and says how one is found', async () => {
    await heading('No appliance yet').waitFor()
    await looksWell('list-empty')
  })

  test('an appliance is trusted row by row, by keyboard, and nothing is sent before', async () => {
    await look(freshFront.origin)
    const trust = button('Trust this appliance')
    expect(await trust.getAttribute('aria-disabled')).toBe('true')
    await looksWell('trust')
    await compareRows()
    await page().getByLabel('Call it').fill('gatehouse-01')
    await page().getByLabel('It is for').fill('Production')
    expect(freshFront.asked).toEqual([])
    await trust.focus()
    await page().keyboard.press('Enter')
    await heading('Create the first administrator').waitFor()
    expect(harness.shown()).toMatch(/^app:\/\/a[0-9a-f]{12}\//)
    await looksWell('first-run')
  })

  test('its first run makes the admin and a repository, and shows how clients reach it', async () => {
    await page().getByLabel('User name').fill(ADMIN.username)
    await page().getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await page().getByRole('textbox', { name: 'Password again' }).fill(ADMIN.password)
    await button('Create and continue').click()
    // the address of the appliance, and not that of the window
    await heading('Where do clients reach this server?').waitFor()
    expect(await page().getByLabel('Address', { exact: true }).inputValue()).toBe(freshFront.origin)
    await button('Later').click()
    await page().getByRole('checkbox', { name: 'jammy' }).check()
    await button('Create 1 repository').click()
    await heading('What the gate looks with').waitFor({ timeout: 90_000 }) // a large prime is found when it is found
    await button('Continue').click()
    await heading('Where do backups go?').waitFor()
    await button('Later').click()
    await heading(/^A second factor for/).waitFor()
    await button('Later').click()
    await heading('Gatehouse is ready').waitFor()
    await page().getByRole('region', { name: 'the client setup' }).waitFor()
    expect(await page().getByRole('region', { name: 'the client setup' }).textContent()).toContain(
      `URIs: ${freshFront.origin}/repos`,
    )
    await looksWell('first-run-done')
    await button('Upload the first package').click()
    await heading('Upload').waitFor()
  })

  test('a second factor is switched on, and the next sign-in asks for its code', async () => {
    await page().keyboard.press('Escape')
    await page().evaluate(() => {
      location.hash = '#/profile'
    })
    await button('Set up the second factor').click()
    secret = ((await page().getByRole('region', { name: 'the key' }).textContent()) ?? '').replace(/\s/g, '')
    await page().getByLabel('Code from the app').pressSequentially(code(secret)) // the sixth digit sends it
    const codes = page().getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
    await codes.nth(7).waitFor()
    recovery = await codes.allTextContents()
    await page().getByLabel('I keep them where my phone is not').check()
    await button('Done').click()
    await page().getByText('8 of 8 recovery codes are left.').waitFor()
    await page().getByRole('button', { name: 'Sign out', exact: true }).click()

    await heading('Sign in').waitFor()
    await looksWell('sign-in')
    await givePassword(ADMIN)
    await heading('Code from your authenticator').waitFor()
    expect(await keptSecrets()).toEqual([])
    await page().getByLabel('Six-digit code').fill(code(secret, 1))
    await page().getByRole('heading', { level: 1 }).first().waitFor()
    await page().getByRole('button', { name: 'Sign out', exact: true }).waitFor()
    // the session is the program's; the page keeps nothing
    expect(await keptSecrets()).toEqual([])
  })
  const keptSecrets = (): Promise<string[]> =>
    page().evaluate(() =>
      [...Object.keys(sessionStorage), ...Object.keys(localStorage)].filter(key => /token|session/.test(key)),
    )

  test('a package is dropped and held for its hole; a reload loses neither session nor queue', async () => {
    const bytes = await buildDeb({ name: 'dropped', version: '1.0' })
    await writeFile(join(folder, FILE), bytes)
    await harness.know({ [FILE]: join(folder, FILE) })
    await dropFiles(page(), 'body', [{ name: FILE, bytes }])
    await page().getByText(FILE).first().waitFor()
    await page().reload()
    await page().getByText(FILE).first().waitFor()
    await page().getByText('1 held').waitFor({ timeout: 60_000 })
    await looksWell('uploaded')
    expect((await indexOf(fresh)).includes('Package: dropped\n')).toBe(false)
  })
  const indexOf = async (daemon: Daemon): Promise<string> =>
    (await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text

  test('it is reviewed with the keyboard alone, and then clients see it', async () => {
    await page().evaluate(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    })
    await page().keyboard.press('Escape')
    await page().keyboard.press('g')
    await page().keyboard.press('r')
    await page()
      .getByRole('region', { name: 'Queue' })
      .getByRole('row', { name: /dropped/ })
      .waitFor()
    await page().keyboard.press('j')
    await page().keyboard.press('Enter')
    await page().getByRole('region', { name: 'dropped', exact: true }).getByRole('heading', { level: 2 }).waitFor()
    await looksWell('reviewed')
    await page().keyboard.press('a')
    await page().keyboard.type('Looked at with the team.')
    await page().keyboard.press('Control+Enter')
    await page().getByText('Approved: dropped 1.0').waitFor()
    await page().getByText('The queue is empty').waitFor()
    await expect.poll(() => indexOf(fresh)).toContain('Package: dropped\n')
  })

  test('a difference stops the second appliance; its own address with a fingerprint compares by itself', async () => {
    await page().keyboard.press('Control+0')
    await look(stageFront.origin)
    await button('A row is different').click()
    await page().getByText('Do not go on.').waitFor()
    expect(await button('Trust this appliance').getAttribute('aria-disabled')).toBe('true')
    await looksWell('trust-stopped')
    await button('Cancel').click()
    const { identity } = await harness.program.home('connections.look', { address: stageFront.origin })
    await look(`gatehouse://127.0.0.1:${stageFront.port}?fp=${identity.fingerprint.join('')}`)
    await page().getByText('The fingerprint in the address is the one of this server.').waitFor()
    await page().getByLabel('Call it').fill('gatehouse-stage')
    await page().locator('.sw.a-pine').click()
    await looksWell('trust-compared')
    await button('Trust this appliance').click()
    await givePassword(ADMIN)
    await heading('Dashboard').waitFor()
    // pine, and not the ochre of the first
    expect(await page().evaluate(() => getComputedStyle(document.body).borderInlineStartColor)).toBe('rgb(46, 139, 77)')
  })

  test('both are on the list, and each keeps its own session and place', async () => {
    await page().keyboard.press('Control+0')
    await page().getByText('Production').waitFor()
    await expect
      .poll(() =>
        page()
          .getByText(/^(healthy|degraded)$/)
          .count(),
      )
      .toBe(2)
    await looksWell('list')
    await page().keyboard.press('Control+2')
    await heading('Dashboard').waitFor()
    await button('gatehouse-stage').click()
    const first = page().getByRole('menuitemradio', { name: /gatehouse-01/ })
    await first.waitFor()
    await looksWell('switcher')
    await first.click()
    await heading('Review queue').waitFor() // where the person was
  })

  test('the palette opens an appliance by its name, or by its address, and says how it stands', async () => {
    const field = page().getByRole('combobox', { name: 'Search or run' })
    const chosen = page().locator('[role=option][aria-selected=true]')
    const group = page().getByRole('group', { name: 'Appliances' })
    const seek = async (sought: string, fits: RegExp): Promise<void> => {
      await page().keyboard.press('Control+k')
      await field.fill(sought)
      await expect.poll(() => chosen.textContent()).toMatch(fits)
    }
    await seek('> gatehouse', /^gatehouse-01/)
    expect(await group.getByRole('option').allTextContents()).toEqual([
      expect.stringMatching(/^gatehouse-01 *127\.0\.0\.1:\d+, Production *(healthy|degraded), 0 to review *Ctrl1$/),
      expect.stringMatching(/^gatehouse-stage *127\.0\.0\.1:\d+ *(healthy|degraded), 0 to review *Ctrl2$/),
    ])
    await looksWell('palette')
    await page().keyboard.press('ArrowDown')
    await page().keyboard.press('Enter')
    await heading('Dashboard').waitFor()
    await seek(`> ${freshFront.port}`, /^gatehouse-01/)
    await page().keyboard.press('Enter')
    await heading('Review queue').waitFor()
  })

  test('a backup is restored in the console, which follows through the pause and shows what was in it', async () => {
    await page().keyboard.press('Control+1')
    await heading('Review queue').waitFor()
    await page().keyboard.press('g')
    await page().keyboard.press('b')
    await heading('Backups').waitFor()
    await button('Back up now').click()
    await page().getByText('The backup is made').waitFor({ timeout: 60_000 })

    // what comes after the backup: a package that clients see, and an account
    const { token } = await harness.program.page(new URL(harness.shown()).host, 'session.read', {})
    const made = await fresh.call('POST', '/auth/users', {
      token: token ?? '',
      body: { ...DEPUTY, role: 'admin' },
    })
    expect(made.status).toBe(201)
    const bytes = await buildDeb({ name: 'afterwards', version: '1.0' })
    await writeFile(join(folder, LATER), bytes)
    await harness.know({ [LATER]: join(folder, LATER) })
    await dropFiles(page(), 'body', [{ name: LATER, bytes }])
    await expect.poll(() => indexOf(fresh), { timeout: 60_000 }).toContain('Package: afterwards\n')
    await page().evaluate(() => {
      location.hash = '#/profile'
    })
    await page().getByRole('button', { name: 'Sign out', exact: true }).click()
    await givePassword(DEPUTY)
    await page().getByRole('button', { name: 'Sign out', exact: true }).waitFor()
    await page().keyboard.press('g')
    await page().keyboard.press('b')

    await page().getByRole('row').getByRole('button', { name: 'Restore' }).click()
    const dialog = page().getByRole('dialog')
    const rows = dialog.getByRole('table', { name: 'What is here and in the backup' }).getByRole('row')
    await rows.filter({ hasText: 'Accounts' }).waitFor()
    const part = async (name: string): Promise<string[]> =>
      rows.filter({ hasText: name }).first().getByRole('cell').allTextContents()
    expect([await part('Packages'), await part('Accounts')]).toEqual([
      ['Packages', '2', '1'],
      ['Accounts', '2', '1'],
    ])
    const restore = inDialog('Restore')
    expect(await restore.getAttribute('aria-disabled')).toBe('true')
    await looksWell('restore')
    await page().getByLabel('Type “restore” to confirm').fill('restore')
    await page().keyboard.press('Enter')

    // the account that asked for it is not in the backup: somebody signs in who is
    await page().getByRole('dialog', { name: 'Sign in again' }).waitFor({ timeout: 120_000 })
    await looksWell('restore-sign-in')
    await givePassword(ADMIN)
    await button('Use a recovery code').click()
    await page()
      .getByLabel('Recovery code')
      .fill(recovery[0] ?? '')
    await page().keyboard.press('Enter')
    // seven days ahead, so with its day
    await page()
      .getByText(/You can go back to what was before until \d+ \w+/)
      .waitFor()
    await looksWell('restored')
    await expect.poll(() => indexOf(fresh), { timeout: 60_000 }).not.toContain('afterwards')
    expect(await indexOf(fresh)).toContain('Package: dropped\n')
    await page().keyboard.press('g')
    await page().keyboard.press('p')
    await page().getByRole('link', { name: 'dropped' }).waitFor()
    expect(await page().getByRole('link', { name: 'afterwards' }).count()).toBe(0)
  })

  test('the other appliance is unharmed by the restore: its session, its packages, nothing to undo', async () => {
    const before = staged
    expect(await indexOf(stage)).toBe(before)
    await page().keyboard.press('Control+2')
    await heading('Dashboard').waitFor()
    await page().keyboard.press('g')
    await page().keyboard.press('b')
    await page().getByText('There is no backup yet').waitFor()
    expect(await page().getByText('You can go back to').count()).toBe(0)
    await page().keyboard.press('g')
    await page().keyboard.press('p')
    await page().getByRole('link', { name: 'staged' }).waitFor()
    await page().keyboard.press('g')
    await page().keyboard.press('d')
    await heading('Dashboard').waitFor()
  })

  test('a new certificate of the trusted authority is taken without a word', async () => {
    await page().keyboard.press('Control+1')
    await heading('Packages').waitFor()
    const { host } = new URL(harness.shown())
    freshFront.show(await authority.issue())
    freshFront.asked.length = 0
    harness.program.desktop.woke()
    await expect.poll(() => freshFront.asked).toContain('GET /health')
    await page().keyboard.press('g')
    await page().keyboard.press('p')
    await page().getByRole('link', { name: 'dropped' }).waitFor()
    expect(new URL(harness.shown()).host).toBe(host)
    expect((await harness.program.home('connections.list', {})).map(({ state }) => state)).not.toContain('changed')
    expect(await page().getByText('This is not').count()).toBe(0)
  })

  test('another identity takes the page away until its last eight digits are typed', async () => {
    freshFront.show(await impostor.issue())
    freshFront.asked.length = 0
    harness.program.desktop.woke()
    await heading('This is not the gatehouse-01 you trusted').waitFor()
    await looksWell('changed')
    const now = await page().locator('.idchange td:nth-child(3)').first().innerText()
    await page().getByLabel('Last 8 digits').fill('0000 0000')
    await button('Trust the new identity').click()
    await page().getByText('These are not the last 8 digits').waitFor()
    // no way around: its page leads back here
    await button('Back to the appliances').click()
    await page().locator('.conn-st', { hasText: 'another identity' }).waitFor()
    await looksWell('list-changed')
    await page().keyboard.press('Control+1')
    await heading(/^This is not/).waitFor()
    expect(freshFront.asked).toEqual([])
    await page().getByLabel('Last 8 digits').fill(now.replace(/\s/g, '').slice(-8))
    await button('Trust the new identity').click()
    await heading('Sign in').waitFor()
  })

  test('nothing was refused by the policy, and no error was met', () => {
    expect(harness.complaints).toEqual([])
  })
})
