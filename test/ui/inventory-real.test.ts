import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dpkgLine, report } from '../support/machine-report.ts'
import { buildDeb } from '../support/packages.ts'
import { startSshd, type TestSshd } from '../support/sshd.ts'
import { lacking } from '../support/tools.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

const WAIT = { timeout: 60_000 }

describe.skipIf(noBrowser !== undefined)('machines in the console', () => {
  let page: Page
  let admin: string
  const team = people(stage => {
    ;({ page, admin } = stage)
  })
  const button = (name: string | RegExp) => page.getByRole('button', { name })
  const drawer = (name: string) => page.getByRole('complementary', { name })

  test('a report shows by itself, with what is newer here', async () => {
    const { daemon, asAdmin, isFine } = team
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'bookworm' } })
    await daemon.upload(await buildDeb({ name: 'plant-agent', version: '2.8.0', arch: 'amd64' }), {
      token: admin,
      distribution: 'bookworm',
    })
    await asAdmin('#/inventory')
    await button('Add the first one').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: /reports itself/ }).check()
    await dialog.getByLabel('Name').fill('line-4')
    await button('Add it').click()
    await dialog.getByText('Waits for the first report.').waitFor()
    const token = await dialog.getByRole('region', { name: 'the token' }).innerText()
    const told = await fetch(`${daemon.url}/api/v1/inventory/report`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
      body: report({ hostname: 'line-4', lines: [dpkgLine('plant-agent', '2.7.4'), dpkgLine('bash', '5.2-1')] }),
    })
    expect(told.status).toBe(200)
    await dialog.getByText('Its first report is here.').waitFor(WAIT)
    await button('Done').click()
    await drawer('line-4').getByText('1 of 1 update is here and published.').waitFor(WAIT)
    await drawer('line-4').getByRole('link', { name: 'plant-agent' }).waitFor()
    await drawer('line-4')
      .getByRole('tab', { name: /^Findings/ })
      .click()
    await drawer('line-4').getByText('Nobody knows').waitFor()
    await isFine()
  })

  describe.skipIf(lacking('openssh-server').length > 0)('over SSH (needs openssh-server)', () => {
    let sshd: TestSshd
    beforeAll(async () => {
      sshd = await startSshd()
    })
    afterAll(() => sshd.close())

    test('a machine is asked and shown, another host key blocks it, and trusting that one asks again', async () => {
      const { daemon, asAdmin } = team
      const key = await daemon.call<{ public_key: string }>('GET', '/inventory/ssh-key', { token: admin })
      await sshd.allow(key.body.public_key)
      await asAdmin('#/inventory')
      await button('Add a machine').click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(key.body.public_key, { exact: false }).waitFor()
      await dialog.getByLabel('Name').fill('this-machine')
      await dialog.getByRole('textbox', { name: /^Address/ }).fill('127.0.0.1')
      await dialog.getByLabel('Port', { exact: true }).fill(String(sshd.port))
      await dialog.getByLabel('Account', { exact: true }).fill(sshd.user)
      await button('Add it').click()
      const machine = drawer('this-machine')
      await machine.getByText('never seen').waitFor()
      await button('Ask now').press('Enter')
      await machine.getByText(/last just now/).waitFor(WAIT)
      await machine.getByRole('tab', { name: 'History' }).click()
      expect((await machine.innerText()).replaceAll(/\s/g, '')).toContain(await sshd.fingerprint())

      const before = await sshd.fingerprint()
      await sshd.changeHostKey()
      await button('Ask now').press('Enter')
      await machine.getByRole('tab', { name: 'Host key' }).click(WAIT)
      const keys = (await machine.getByRole('table').innerText()).replaceAll(/\s/g, '')
      expect([keys.includes(before), keys.includes(await sshd.fingerprint())]).toEqual([true, true])
      expect(await button('Ask now').getAttribute('aria-disabled')).toBe('true')
      await machine.getByRole('checkbox').check()
      await button('Trust the new key').press('Enter')
      await machine.getByRole('tab', { name: 'Host key' }).waitFor({ ...WAIT, state: 'detached' })
      await expect
        .poll(async () => (await daemon.call('GET', '/inventory/clients?q=this-machine', { token: admin })).body, WAIT)
        .toMatchObject({ items: [{ last_scan_status: 'ok', last_error_code: null }] })
      await page
        .getByRole('row', { name: /^this-machine/ })
        .getByText('key changed')
        .waitFor({ ...WAIT, state: 'detached' })
    })
  })
})
