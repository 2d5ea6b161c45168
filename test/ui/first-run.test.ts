import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { encryptKey, generateKey, type PrivateKey } from 'openpgp'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { axeProblems, launch, noBrowser, openPage, tooWide } from './support/browser.ts'

const TOKEN = 'K7MQR2XD9HVT'
const PASSPHRASE = 'Lantern-on-the-pier'

describe.skipIf(noBrowser !== undefined)('the first run, by those who do it wrong', () => {
  let daemon: Daemon
  let browser: Browser
  let page: Page
  let other: Page
  let key: PrivateKey
  const complaints: string[][] = []

  beforeAll(async () => {
    ;[daemon, browser, { privateKey: key }] = await Promise.all([
      startDaemon({ env: { SETUP_TOKEN: TOKEN } }),
      launch(),
      generateKey({
        type: 'ecc',
        curve: 'ed25519Legacy',
        userIDs: [{ name: 'Nordwerk', email: 'packages@nordwerk.example' }],
        date: new Date(Date.now() - 86_400_000),
        format: 'object',
      }),
    ])
    for (const take of [(one: Page) => (page = one), (one: Page) => (other = one)]) {
      const opened = await openPage(browser, daemon.url)
      complaints.push(opened.complaints)
      take(opened.page)
    }
  })
  afterAll(async () => {
    await browser?.close()
    await daemon?.close()
  })

  const heading = (name: string | RegExp, on = page) => on.getByRole('heading', { level: 1, name })
  const press = (name: string, on = page): Promise<void> => on.getByRole('button', { name, exact: true }).click()
  /** No serious finding, also in a window as narrow as a phone; `SHOTS=/tmp/x` keeps pictures. */
  async function looksWell(name: string): Promise<void> {
    const shots = process.env.SHOTS
    for (const width of [1440, 420]) {
      await page.setViewportSize({ width, height: 900 })
      if (shots !== undefined) {
        mkdirSync(shots, { recursive: true })
        await page.screenshot({ path: join(shots, `${name}-${width}.png`) })
      }
      expect(await axeProblems(page), name).toEqual([])
      expect(await tooWide(page), name).toBe(0)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  }
  async function fill(on: Page, token: string): Promise<void> {
    await on.getByLabel('Setup token').fill(token)
    await on.getByLabel('User name').fill(ADMIN.username)
    await on.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await on.getByRole('textbox', { name: 'Password again' }).fill(ADMIN.password)
    await press('Create and continue', on)
  }
  const fingerprints = async (): Promise<string[]> => {
    const token = await daemon.setupAdmin()
    const { body } = await daemon.call<{ keys: { fingerprint: string }[] }>('GET', '/settings/gpg', { token })
    return body.keys.map(({ fingerprint }) => fingerprint)
  }
  const index = async (): Promise<string> =>
    (await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text

  test('a wrong setup token is said at its field; the right one makes one admin, in one of two browsers', async () => {
    await fill(page, 'not-the-token')
    await page.getByText('This is not the setup token of this server').waitFor()
    await fill(page, TOKEN)
    await heading('Where do clients reach this server?').waitFor()
    // the same token again, in a page that was opened before
    await fill(other, TOKEN)
    await other.getByText('Someone else has just created the first administrator.').waitFor()
    await press('Sign in', other)
    await heading('Sign in', other).waitFor()
    await other.getByLabel('User name').fill(ADMIN.username)
    await other.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await other.getByRole('button', { name: 'Sign in' }).first().click()
    await other.goto(`${daemon.url}/#/setup?step=repositories`)
    await heading('Which distributions do you serve?', other).waitFor()
  })

  test('the clock of the server is compared, and whether anything keeps it right is said or not known', async () => {
    const clock = page.getByRole('region', { name: 'The clock of this server' })
    await clock.getByText(/the same, to \d|it is .* (ahead|behind)/).waitFor()
    await clock
      .getByText(/keeps it right|Nothing keeps it right|cannot tell/)
      .first()
      .waitFor()
    await looksWell('address')
    await page.route('**/api/v1/setup/clock', async route => {
      const answer = await route.fetch()
      const reply = (await answer.json()) as object
      const now = new Date(Date.now() - 240_000).toISOString()
      await route.fulfill({ response: answer, json: { ...reply, now, synchronised: false, said_by: 'timedatectl' } })
    })
    await press('Look again')
    await clock.getByText('it is 4 minutes behind.').waitFor()
    await clock.getByText('The two clocks differ.').waitFor()
    await clock.getByText('Nothing keeps it right').waitFor()
    await looksWell('clock-apart')
    await page.unrouteAll()
    await press('Later')
  })

  test('a key of the organisation is taken in; what cannot sign is refused where it stands', async () => {
    await heading('Which distributions do you serve?').waitFor()
    await page.getByRole('radio', { name: /Take in one that clients trust already/ }).check()
    const create = page.getByRole('button', { name: 'Create 1 repository' })
    await page.getByRole('checkbox', { name: 'jammy' }).check()
    expect(await create.getAttribute('aria-disabled')).toBe('true')
    const text = page.getByLabel('Private key', { exact: true })
    await text.fill(key.toPublic().armor())
    await page.getByText('This is the public part, which cannot sign.').first().waitFor()
    await looksWell('key-public')
    const locked = (await encryptKey({ privateKey: key, passphrase: PASSPHRASE })).armor()
    await text.fill(locked)
    await create.click()
    await page.getByText(/is protected by a passphrase/).waitFor()
    await page.getByLabel(/^Passphrase of the key/).fill('not-it')
    await create.click()
    await page.getByText(/This passphrase does not open the key/).waitFor()
    await looksWell('key-passphrase')
    expect(await fingerprints()).toEqual([])
    await page.getByLabel(/^Passphrase of the key/).fill(PASSPHRASE)
    await create.click()
    await heading('What the gate looks with').waitFor({ timeout: 90_000 })
    expect(await fingerprints()).toEqual([key.getFingerprint().toUpperCase()])
    for (const secret of [PASSPHRASE, 'not-it', locked.split('\n')[4] ?? '?'])
      expect(daemon.log()).not.toContain(secret)
  })

  test('another browser, which still offers to make a key, does not replace it', async () => {
    await other.getByLabel('Name in the key').fill('Somebody else')
    await other.getByRole('checkbox', { name: 'noble' }).check()
    await press('Create 1 repository', other)
    await other.getByText('There is a signing key already').waitFor()
    await other.getByText(/^There is one:/).waitFor()
    expect(await fingerprints()).toHaveLength(1)
  })

  test('a server that is killed in the middle loses no step: it is tried again in the same page', async () => {
    await daemon.kill9()
    await press('Create 1 repository', other)
    await other.getByRole('alert').first().waitFor()
    await daemon.restart()
    await press('Create 1 repository', other)
    await heading('What the gate looks with', other).waitFor({ timeout: 90_000 })
    for (const [step, name] of [
      ['address', 'Where do clients reach this server?'],
      ['repositories', 'Which distributions do you serve?'],
      ['scanners', 'What the gate looks with'],
      ['backup', 'Where do backups go?'],
      ['factor', `A second factor for ${ADMIN.username}`],
      ['first', 'Gatehouse is ready'],
    ] as const) {
      await page.goto(`${daemon.url}/#/setup?step=${step}`)
      await page.reload()
      await heading(name).waitFor()
    }
  })

  test('a sample goes through the gate and is removed again, and the first client is said when it asks', async () => {
    const sample = page.getByRole('group', { name: 'Sample package' })
    await page.getByRole('combobox', { name: 'Distribution' }).selectOption('jammy')
    await page.getByText('Waiting for the first client.').waitFor()
    await press('Try it')
    await sample.getByText('Published').waitFor()
    await fetch(`${daemon.url}/repos/dists/jammy/InRelease`, {
      headers: { 'user-agent': 'Debian APT-HTTP/1.3 (2.6.1)' },
    })
    const first = page.getByRole('status', { name: 'The first client' })
    await first.getByText('A client has asked for jammy: 127.0.0.1 with apt').waitFor()
    expect(await index()).toContain('Package: gatehouse-hello\n')
    await looksWell('finish')
    await page.reload()
    await page.getByRole('combobox', { name: 'Distribution' }).selectOption('jammy')
    await press('Remove the sample')
    await page.getByRole('button', { name: 'Try it' }).waitFor()
    await expect.poll(index).not.toContain('gatehouse-hello')
  })

  test('without a log of requests it is said that nobody can know', async () => {
    const token = await daemon.setupAdmin()
    await daemon.call('PATCH', '/settings/', {
      token,
      body: { downloads: { access_log: '/var/log/nginx/not-here.log' } },
    })
    await page.reload()
    await page.getByText('When the first client asks, this page cannot know.').waitFor()
    await looksWell('finish-unknown')
    expect(complaints).toEqual([[], []])
  })
})
