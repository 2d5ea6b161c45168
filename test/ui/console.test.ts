import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, dropFiles, noBrowser } from './support/browser.ts'
import { signInAt, visits } from './support/visits.ts'

const PERSON = { name: 'p.raman', password: 'harbour-Lantern-88' }

if (noBrowser !== undefined) console.warn(`The console is not tested: ${noBrowser}.`)

describe.skipIf(noBrowser !== undefined)('the console over the real daemon', () => {
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
  })
  afterAll(async () => {
    await daemon?.close()
  })

  const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name })
  const signIn = (at = '#/dashboard', { name, password } = PERSON): Promise<void> =>
    signInAt(page, `${daemon.url}/${at}`, name, password)
  async function token(): Promise<string> {
    const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username: PERSON.name, password: PERSON.password },
    })
    return body.access_token
  }
  const hello = (version: string, files = {}): Promise<Buffer> => buildDeb({ name: 'hello', version, files })

  test('a fresh instance asks for its first admin, sets up a repository and shows how clients reach it', async () => {
    await heading('Create the first administrator').waitFor()
    await page.getByLabel('User name').fill(PERSON.name)
    await page.getByLabel('Password', { exact: true }).fill('harbour')
    expect(
      await page.getByRole('listitem').filter({ hasText: 'an uppercase letter' }).getByLabel('Not yet:').count(),
    ).toBe(1)
    await page.getByLabel('Password', { exact: true }).fill(PERSON.password)
    expect(await page.getByRole('listitem').filter({ hasText: 'an uppercase letter' }).getByLabel('Met:').count()).toBe(
      1,
    )
    await page.getByRole('button', { name: 'Restore instead' }).click()
    await page.getByText('npm run restore -- ARCHIVE').waitFor()
    await page.getByRole('button', { name: 'Create and go to the backups' }).waitFor()
    await page.getByRole('button', { name: 'Set up anew' }).click()
    const create = page.getByRole('button', { name: 'Create and continue' })
    expect(await create.getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('textbox', { name: 'Password again' }).fill(PERSON.password)
    expect(await axeProblems(page)).toEqual([])
    await create.click()

    await heading('Where do clients reach this server?').waitFor()
    const address = page.getByLabel('Address', { exact: true })
    expect(await address.inputValue()).toBe(daemon.url)
    await address.fill('packages')
    await page.getByText('It begins with https:// or http://.').first().waitFor()
    await address.fill('http://127.0.0.1:9')
    await page.getByRole('button', { name: 'Check and continue' }).click()
    await page.getByText('Nobody answers there.').waitFor()
    await address.fill(daemon.url)
    await page.getByRole('button', { name: 'Check and continue' }).click()
    await page.getByText('Only this machine reaches it.').waitFor()
    expect([await page.getByText('Nobody answers there.').count(), await axeProblems(page)]).toEqual([0, []])
    await page.getByRole('button', { name: 'Use it all the same' }).click()

    await heading('Which distributions do you serve?').waitFor()
    expect(await axeProblems(page)).toEqual([])
    expect(await page.getByRole('checkbox', { name: 'focal' }).isVisible()).toBe(false)
    await page.getByText('2 distributions past the end of life').click()
    await page.getByText('Ended 29 May 2025').waitFor()
    await page.getByRole('checkbox', { name: 'Debian', exact: true }).check()
    await page.getByRole('button', { name: 'Create 2 repositories' }).waitFor()
    await page.getByRole('checkbox', { name: 'jammy' }).check()
    await page.getByRole('checkbox', { name: 'Debian', exact: true }).uncheck()
    await page.getByLabel('Name in the key').fill('Nordwerk packages')
    await page.getByRole('button', { name: 'Create 1 repository' }).click()

    await heading('What the gate looks with').waitFor({ timeout: 90_000 }) // a large prime is found when it is found
    await page.getByText('None are loaded: the gate cannot know of vulnerabilities').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Continue' }).click()

    await heading('Where do backups go?').waitFor()
    const directory = await mkdtemp(join(tmpdir(), 'gh-target-'))
    await page.getByLabel('Directory', { exact: true }).fill(join(directory, 'missing'))
    await page.getByLabel(/^Passphrase ?can be empty/).fill('Lantern-on-the-pier')
    await page.getByRole('textbox', { name: 'Passphrase again' }).fill('Lantern-on-the-pier')
    await page.getByRole('button', { name: 'Try it and continue' }).click()
    await page.getByText('What you typed is saved').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.getByLabel('Directory', { exact: true }).fill(directory)
    await page.getByRole('button', { name: 'Try it and continue' }).click()

    await heading(`A second factor for ${PERSON.name}`).waitFor()
    await page.getByRole('textbox', { name: 'Code from the app' }).waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Later' }).click()
    await heading('Gatehouse is ready').waitFor()
    await page.reload() // and goes on where it was
    await heading('Gatehouse is ready').waitFor()
    const summary = page.getByRole('complementary', { name: 'Summary' })
    for (const said of [daemon.url, 'no second factor', '1 repository', 'none loaded', 'daily, encrypted'])
      await summary.getByText(said).first().waitFor()
    const { body } = await daemon.call('GET', '/settings/', { token: await token() })
    expect(body).toMatchObject({ app_url: daemon.url, backup: { enabled: true, directory, passphrase: '***' } })
    const { body: keys } = await daemon.call<{ keys: unknown[] }>('GET', '/settings/gpg', { token: await token() })
    expect(keys.keys).toMatchObject([{ user_id: expect.stringContaining('Nordwerk packages') as string }])
    await rm(directory, { recursive: true })
    const setup = await page.getByRole('region', { name: 'the client setup' }).textContent()
    for (const line of [`URIs: ${daemon.url}/repos`, 'Suites: jammy']) expect(setup).toContain(line)
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Upload the first package' }).click()
    await heading('Upload').waitFor()
  })

  test('signs in with the keyboard alone, and explains a wrong password', async () => {
    await page.locator('[name=username]:focus').waitFor() // the form puts the focus there itself
    await page.keyboard.type(PERSON.name)
    await page.keyboard.press('Tab')
    await page.keyboard.type('not-the-Password-1')
    await page.keyboard.press('Enter')
    const alert = page.getByRole('alert')
    await alert.waitFor()
    expect(await alert.textContent()).toContain(
      'User name or password is wrong. After 5 wrong passwords an account is locked for 15 minutes.',
    )
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('password')
    await page.keyboard.type(PERSON.password)
    await page.keyboard.press('Enter')
    await heading('Dashboard').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await heading('Packages').waitFor()
    await page.keyboard.press('/')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Search packages')
  })

  test('takes a real file by drag and drop through the gate, shows it published, and deletes it', async () => {
    await signIn('#/upload')
    await dropFiles(page, 'body', [{ name: 'hello_1.0_amd64.deb', bytes: await hello('1.0') }])
    const drawer = page.getByRole('complementary', { name: /The gate for/ })
    await drawer.getByText('jammy names it. Clients see it after their next update.').last().waitFor()
    expect(await page.getByText('1 published').count()).toBe(1)
    expect(await drawer.getByRole('list', { name: 'The gate' }).getByRole('listitem').count()).toBe(7)
    // the index that a client reads names it, whatever this page says
    expect((await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text).toContain(
      'Package: hello\n',
    )

    await drawer.getByRole('link', { name: 'Install commands' }).click()
    await page.getByRole('region', { name: 'the install command' }).waitFor()
    expect(await page.getByRole('region', { name: 'the install command' }).textContent()).toContain('hello=1.0')
    expect(await axeProblems(page)).toEqual([])

    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    const sure = dialog.getByRole('button', { name: 'Delete this version' })
    await dialog.getByLabel('Type hello to confirm').fill('hell')
    expect(await sure.getAttribute('aria-disabled')).toBe('true')
    await dialog.getByLabel('Type hello to confirm').fill('hello')
    await sure.click()
    await page.getByText('No package yet').waitFor()
    expect((await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text).not.toContain('hello')
  })

  test('names other bytes under a known version, with both hashes, and does not offer to try again', async () => {
    await daemon.upload(await hello('2.0'), { token: await token() })
    await signIn('#/upload')
    await dropFiles(page, 'body', [
      { name: 'hello_2.0_amd64.deb', bytes: await hello('2.0', { 'usr/share/other': 'x' }) },
    ])
    await page.getByRole('cell', { name: 'Other bytes' }).waitFor()
    expect(await page.locator('.drawer .hash').count()).toBe(2)
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
  })

  test('says what a file that is no package is refused for', async () => {
    await signIn('#/upload')
    await dropFiles(page, 'body', [
      { name: 'broken_1_amd64.deb', bytes: Buffer.from('this is no package') },
      { name: 'notes.txt', bytes: Buffer.from('x') },
    ])
    await page.getByText('notes.txt is no package').waitFor()
    await page.getByRole('alert').filter({ hasText: 'broken_1_amd64.deb is no package' }).waitFor()
    expect(await page.getByText('1 stopped').count()).toBe(1)

    // 184 characters without a break stay in their box
    const long = `broken${'-x'.repeat(83)}_1_amd64.deb`
    await dropFiles(page, 'body', [{ name: long, bytes: Buffer.from('this is no package') }])
    await page.getByRole('button', { name: `Show the gate for ${long}` }).click()
    const box = page.getByRole('alert').filter({ hasText: long })
    await box.waitFor()
    expect(await box.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
  })

  test('a file that is dropped beside every drop zone leaves the console where it is', async () => {
    const refused = (): Promise<boolean[]> =>
      page.evaluate(() =>
        ['dragover', 'drop'].map(type => {
          const dataTransfer = new DataTransfer()
          dataTransfer.items.add(new File(['<h1>Not the console</h1>'], 'page.html', { type: 'text/html' }))
          return !document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }))
        }),
      )
    await page.getByLabel('User name').waitFor()
    expect(await refused()).toEqual([true, true])
    await signIn('#/engines') // where the window itself takes no packages
    expect(await refused()).toEqual([true, true])
    expect(new URL(page.url()).hash).toBe('#/engines')
  })

  test('a filter of the address that means nothing is named, left out, and taken away', async () => {
    await signIn('#/vulnerabilities?epss=zzz&kev=1')
    const said = page.getByText('The address asks for epss=zzz, which is not known. It is left out.')
    await said.waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Remove it: epss=zzz' }).click()
    await said.waitFor({ state: 'detached' })
    expect(new URL(page.url()).hash).toBe('#/vulnerabilities?kev=1')
    expect(await heading('Vulnerabilities').evaluate(one => one === document.activeElement)).toBe(true)
  })

  /** The console may try by itself in between: then the button is gone. */
  const tryNow = (): Promise<void> =>
    page
      .getByRole('button', { name: 'Try now' })
      .click({ timeout: 5_000 })
      .catch(() => undefined)

  test('an upload by someone else appears on the dashboard by itself, and a lost connection is said and comes back', async () => {
    await signIn()
    await page.getByText('Live', { exact: true }).waitFor()
    await daemon.upload(await hello('3.0'), { token: await token() })
    await page.getByRole('link', { name: 'hello 3.0' }).waitFor()
    await daemon.kill9()
    await page.getByRole('button', { name: /Offline since/ }).waitFor()
    await daemon.restart()
    await tryNow()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test('what is dropped while the server is away waits, and goes on by itself when it is back; so it does when the session has ended', async () => {
    await signIn('#/upload')
    await page.getByText('Live', { exact: true }).waitFor()
    // what the page needs to know is there
    await expect.poll(() => page.getByLabel('Distribution for .deb').inputValue()).not.toBe('')
    await daemon.kill9()
    await page.getByRole('button', { name: /Offline since/ }).waitFor()
    await dropFiles(page, 'body', [{ name: 'hello_4.0_amd64.deb', bytes: await hello('4.0') }])
    await page
      .getByRole('row', { name: /hello_4.0/ })
      .getByText('for the connection')
      .waitFor()
    await daemon.restart()
    await tryNow()
    await page.getByText('1 published').waitFor()

    const used = (await page.evaluate(() => sessionStorage.getItem('gatehouse.token'))) ?? ''
    await daemon.call('POST', '/auth/logout', { token: used })
    await dropFiles(page, 'body', [{ name: 'hello_4.1_amd64.deb', bytes: await hello('4.1') }])
    const door = page.getByRole('dialog', { name: 'Sign in again' })
    await door.getByLabel('Password', { exact: true }).fill(PERSON.password)
    await page.keyboard.press('Enter')
    await page.getByText('2 published').waitFor()
  })

  test('a session that ends asks to sign in again and comes back to the same place', async () => {
    await signIn('#/packages?q=hell')
    await page.evaluate(() => sessionStorage.setItem('gatehouse.token', 'ended'))
    await page.reload()
    await page.getByText('Your session ended.').waitFor()
    await page.getByLabel('User name').fill(PERSON.name)
    await page.getByLabel('Password', { exact: true }).fill(PERSON.password)
    await page.keyboard.press('Enter')
    await heading('Packages').waitFor()
    expect(await page.getByLabel('Search packages').inputValue()).toBe('hell')
  })

  test('an admin makes a user and a token; the token is shown once and works', async () => {
    await signIn('#/users')
    await page.getByRole('button', { name: 'Create user' }).click()
    await page.getByLabel('User name').fill('rita')
    await page.getByLabel('First password', { exact: true }).fill('Reads-only-7')
    await page.getByRole('dialog').getByRole('button', { name: 'Create user' }).click()
    await page.getByRole('combobox', { name: 'Role of rita' }).selectOption('auditor')
    await page.getByText('rita is now auditor').waitFor()
    await page.getByRole('combobox', { name: 'Role of rita' }).selectOption('reader')
    await page.getByText('rita is now reader').waitFor()
    expect(await page.getByText('You cannot change your own role.').count()).toBe(1)

    await page.getByRole('link', { name: 'API tokens' }).click()
    await page.getByRole('button', { name: 'Create token' }).first().click()
    await page.getByLabel('Name').fill('ci')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    const made = (await page.getByRole('region', { name: 'the token' }).textContent()) ?? ''
    await page.keyboard.press('Escape') // it is shown once: only its own button closes
    await page.getByRole('button', { name: 'I have copied it' }).click()
    expect((await daemon.call('GET', '/auth/me', { token: made })).status).toBe(200)
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke the token' }).click()
    await page.getByText('No API token yet').waitFor()
    expect((await daemon.call('GET', '/auth/me', { token: made })).status).toBe(401)
  })

  test('a screen whose code cannot be fetched says so, and opens once it can', async () => {
    await page.route(/assets\/jobs-.*\.js/, route => route.abort('connectionreset'))
    await signIn('#/jobs')
    await page.getByText('This screen could not be fetched').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.unroute(/assets\/jobs-.*\.js/)
    await page.getByRole('button', { name: 'Reload the console' }).click()
    await heading('Jobs').waitFor()
  })

  test('a reader sees every control, and why it is not theirs', async () => {
    await signIn('#/upload', { name: 'rita', password: 'Reads-only-7' })
    const choose = page.getByRole('button', { name: 'Choose files' })
    expect(await choose.getAttribute('aria-disabled')).toBe('true')
    await choose.hover()
    expect(await page.locator('.tip').textContent()).toBe('Needs uploader. You are reader.')
    await page.goto(`${daemon.url}/#/users`)
    await page.getByText('Users and tokens are for admins.').waitFor()
  })
})
