import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { noBrowser } from './support/browser.ts'
import { KNOWN_HOST, showMachines } from './support/machines.ts'
import { people } from './support/people.ts'
import { settled } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('the inventory in the console', () => {
  let page: Page
  let admin: string
  const team = people(stage => {
    ;({ page, admin } = stage)
  })
  const { asAdmin, signIn, addUser, isFine } = team
  const button = (name: string | RegExp) => page.getByRole('button', { name })
  const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) })
  const drawer = (name: string) => page.getByRole('complementary', { name })
  const words = async (name: string): Promise<string> => (await row(name).innerText()).replaceAll(/\s+/g, ' ')
  const get = async <T>(path: string): Promise<T> => (await team.daemon.call<T>('GET', path, { token: admin })).body

  beforeAll(async () => {
    await addUser('aud', 'auditor')
    await addUser('rui', 'reader')
  })

  test('a machine that reports itself is added, its token is shown once, and what it has not told is unknown', async () => {
    await asAdmin('#/inventory')
    await page.getByText('No machine yet').waitFor()
    await isFine()
    await button('Add the first one').press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: /reports itself/ }).check()
    await dialog.getByLabel('Name').fill('line 4')
    await button('Add it').click()
    await dialog.getByText(/a host name such as/).waitFor()
    await dialog.getByLabel('Name').fill('line-4')
    await dialog.getByLabel('Group').fill('plant south')
    await page.keyboard.press('Enter')
    const command = await dialog.getByRole('region', { name: 'the install command' }).innerText()
    const token = await dialog.getByRole('region', { name: 'the token' }).innerText()
    expect(command).toMatch(/^curl -fsS http:\/\/127\.0\.0\.1:\d+\/api\/v1\/inventory\/agent\.sh \| /)
    expect(command).toContain(token)
    await isFine()
    await page.keyboard.press('Escape')
    await dialog.getByText('This is the only time the token is shown').waitFor()
    await button('Done').click()
    await drawer('line-4').getByText('What is newer is not known yet.', { exact: false }).waitFor()
    expect(await words('line-4')).toMatch(/never.*unknown.*unknown/)
    expect(await page.content()).not.toContain(token)
    await isFine()

    await button('Add a machine').click()
    await dialog.getByRole('radio', { name: /asks over SSH/ }).check()
    await dialog.getByLabel('Name').fill('plc-1')
    await dialog.getByLabel('Port', { exact: true }).fill('99999')
    expect(await button('Add it').getAttribute('aria-disabled')).toBe('true')
    await dialog.getByLabel('Port', { exact: true }).fill('2222')
    await button('Add it').click()
    await drawer('plc-1').waitFor()
    await button('Add a machine').click()
    await dialog.getByLabel('Name').fill('PLC-1')
    await dialog.getByLabel('Port', { exact: true }).fill('2222')
    await button('Add it').click()
    await dialog.getByText(/PLC-1, port 2222, is registered already/).waitFor()
    await page.keyboard.press('Escape')
    await button('Discard it').click()

    await button('More').click()
    await page.getByRole('menuitem', { name: 'Change' }).click()
    await dialog.getByLabel('Group').fill('hall 2')
    await dialog.getByLabel('Ask it').uncheck()
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await row('plc-1').getByText('hall 2, switched off').waitFor()
    const { items } = await get<{ items: object[] }>('/inventory/clients?q=plc-1')
    expect(items).toEqual([
      expect.objectContaining({ hostname: 'plc-1', ssh_port: 2222, label: 'hall 2', enabled: false }),
    ])
    await button('More').click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await button('Remove').last().click()
    await row('plc-1').waitFor({ state: 'detached' })
    expect(await get('/inventory/clients?q=plc-1')).toMatchObject({ total: 0 })
  })

  test('the list says what is behind, found, broken and unknown; J, K, Enter and arrows lead through machines and tabs', async () => {
    await showMachines(page)
    await asAdmin('#/inventory')
    expect(await words('plc-gw-07')).toBe(
      'plc-gw-07 10.20.3.17, plant north Debian 12 3 h 23 C 1 H 4 M 6 3 of 5 needed',
    )
    expect(await words('build-02')).toMatch(/3 h none none 5 of 5 no$/)
    expect(await words('edge-south-4')).toMatch(/none unknown 2 not known no$/)
    expect(await words('mail-relay')).toMatch(/key changed unknown unknown 5 not known unknown$/)
    await page.getByText('1 machine has a critical finding that an update here closes.').waitFor()
    await isFine()
    await page.emulateMedia({ colorScheme: 'dark' })
    await isFine()
    // where other lists leave a column out that has the same place
    const whole = page.viewportSize() ?? { width: 1440, height: 900 }
    const list = page.locator('.list', { has: page.getByRole('table', { name: 'Machines' }) })
    const widthOf = () => list.evaluate(it => it.clientWidth)
    await page.setViewportSize({ ...whole, width: 800 })
    await page.setViewportSize({ ...whole, width: 800 + 45 * 16 - (await widthOf()) })
    expect(await widthOf()).toBe(45 * 16)
    await page.getByRole('columnheader', { name: 'Reboot' }).waitFor()
    await page.setViewportSize(whole)

    await page.keyboard.press('j')
    const machine = drawer('plc-gw-07')
    await machine.getByText('19 of 23 updates are here and published.').waitFor()
    await machine.getByRole('link', { name: 'openssl' }).waitFor()
    expect(await machine.getByRole('region', { name: 'the update command' }).innerText()).toBe(
      'sudo apt update && sudo apt upgrade',
    )
    await isFine()
    await machine.getByRole('tab', { name: 'Updates' }).focus()
    for (const [tab, said] of [
      ['Findings', 'CVE-2025-11187'],
      [
        'Compliance',
        'A critical finding is there since 9 days; 7 days are allowed. Install the updates that close it.',
      ],
      ['Packages', '7.88.1-10+deb12u8, amd64'],
      ['History', 'plc-gw-07 did not answer within 60 s.'],
    ] as const) {
      await page.keyboard.press('ArrowRight')
      await machine.getByText(said, { exact: true }).waitFor()
      expect(await machine.getByRole('tab', { name: tab }).getAttribute('aria-selected')).toBe('true')
      await isFine()
    }
    await page.keyboard.press('j')
    await drawer('db-north-01').waitFor()
    await page.keyboard.press('k')
    await machine.waitFor()
    await page.keyboard.press('Escape')
    await machine.waitFor({ state: 'detached' })
  })

  test('what data do not cover is not clean, and why a machine does not answer is said', async () => {
    await showMachines(page)
    await asAdmin('#/inventory?pick=5&tab=findings')
    await drawer('edge-south-4').getByText('Nobody knows').waitFor()
    await drawer('edge-south-4').getByText('No data here cover alpine 3.20.').waitFor()
    expect(await page.getByText('No known vulnerability').count()).toBe(0)
    await page.goto(`${team.daemon.url}/#/inventory?pick=6`)
    await drawer('scada-02')
      .getByText(/did not answer within 60 s.*inventory_timeout/)
      .waitFor()
    await isFine()
  })

  test('another host key blocks: both are shown, and only who compared them trusts the new one', async () => {
    await showMachines(page)
    await asAdmin('#/inventory?pick=7')
    const machine = drawer('mail-relay')
    await machine.getByText('This is not the mail-relay you trusted.').waitFor()
    const shown = (await machine.getByRole('table').innerText()).replaceAll(/\s/g, '')
    expect(shown).toContain(KNOWN_HOST.fingerprint)
    expect(shown).toContain(KNOWN_HOST.offered_fingerprint)
    expect(await button('Ask now').getAttribute('aria-disabled')).toBe('true')
    expect(await button('Trust the new key').getAttribute('aria-disabled')).toBe('true')
    await isFine()
    const bodies: unknown[] = []
    await page.route('**/host-key/reset', route => {
      bodies.push(route.request().postDataJSON())
      return route.fulfill({
        contentType: 'application/json',
        body: JSON.stringify({ known_host: null, message: 'It is asked again.' }),
      })
    })
    await button('Trust the new key').press('Enter')
    expect(bodies).toEqual([])
    await machine.getByRole('checkbox').check()
    await button('Trust the new key').press('Enter')
    await page.getByText('mail-relay is trusted again').waitFor()
    expect(bodies).toEqual([{ fingerprint: KNOWN_HOST.offered_fingerprint }])
  })

  test('rules are changed by an admin: what is no number of days is refused at its field, empty asks nothing', async () => {
    await asAdmin('#/inventory')
    await button('Rules').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('A critical finding is closed within').fill('soon')
    await dialog.locator('.error').getByText('A whole number from 0 to 3650, or nothing.').waitFor()
    expect(await button('Save the rules').getAttribute('aria-disabled')).toBe('true')
    await dialog.getByLabel('A critical finding is closed within').fill('3')
    await dialog.getByLabel('A high finding is closed within').fill('')
    await dialog.getByLabel('No restart is pending').uncheck()
    await isFine()
    await button('Save the rules').click()
    await page.getByText('The rules are changed').waitFor()
    expect(await get('/inventory/compliance/rules')).toEqual({
      finding_days: { critical: 3, high: null, medium: null, low: null },
      supported_release: true,
      no_reboot_pending: false,
      seen_within_days: 7,
      update_days: null,
    })
  })

  test('auditors read, readers are told whom to ask', async () => {
    await showMachines(page)
    await signIn('aud', '#/inventory?pick=1')
    await drawer('plc-gw-07').waitFor()
    for (const name of ['Ask now', 'Add a machine'])
      expect(await button(name).getAttribute('aria-disabled')).toBe('true')
    await isFine()
    await page.evaluate(() => sessionStorage.clear())
    await page.reload()
    await signIn('rui', '#/inventory')
    await page.getByText('The inventory is for auditors, maintainers and admins').waitFor()
  })

  test('an error shows code and request and can be tried again; without the edition its name is said, and nothing else', async () => {
    let status = 500
    await page.route(
      url => url.pathname.endsWith('/inventory/clients'),
      route =>
        status === 200
          ? route.continue()
          : route.fulfill({
              status,
              contentType: 'application/json',
              headers: { 'x-request-id': 'r-18' },
              body: JSON.stringify({ detail: 'The database does not answer.', code: 'unavailable' }),
            }),
    )
    await asAdmin('#/inventory')
    expect(await page.getByRole('alert').innerText()).toMatch(
      /The database does not answer\.\s+unavailable, request r-18/,
    )
    status = 200
    await button('Try again').click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    status = 402
    await page.reload()
    await page.getByText('The inventory is part of the enterprise edition.').waitFor()
    expect(await page.getByRole('region', { name: 'Machines' }).count()).toBe(0)
  })

  test('on a phone each machine is a block, and its drawer takes the width', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await showMachines(page)
    await asAdmin('#/inventory')
    await row('plc-gw-07').getByText('3 h').waitFor()
    await settled(page)
    await isFine()
    await row('plc-gw-07').getByRole('link').click()
    await drawer('plc-gw-07').getByText('19 of 23 updates', { exact: false }).waitFor()
    await isFine()
  })
})
