import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { noBrowser } from './support/browser.ts'
import { expectFine, PASSWORD, signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('the audit log in the console', () => {
  let daemon: Daemon
  let admin: string
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  const rows = () => page.getByRole('region', { name: 'Audit log' }).locator('tbody tr:not(.group)')
  const drawer = () => page.getByRole('complementary', { name: 'Audit line' })
  const upload = async (name: string): Promise<void> => {
    await daemon.upload(await buildDeb({ name, version: '1.0', arch: 'amd64' }), { token: admin })
  }

  beforeAll(async () => {
    daemon = await startDaemon()
    admin = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
    for (const name of ['plant-agent', 'curl']) await upload(name)
    await daemon.call('POST', '/auth/users', {
      token: admin,
      body: { username: 'aud', password: PASSWORD, role: 'auditor' },
    })
  })
  afterAll(() => daemon.close())

  test('lines have one height under their day, and any place of a row opens it', async () => {
    await signInAt(page, `${daemon.url}/#/audit`)
    await rows().first().waitFor()
    await page.getByRole('rowheader', { name: /^Today, / }).waitFor()
    const heights = await rows().evaluateAll(all => all.map(row => Math.round(row.getBoundingClientRect().height)))
    expect(Math.max(...heights)).toBeLessThanOrEqual(37)
    await expectFine(page)

    const row = rows().filter({ hasText: 'plant-agent' })
    await row.locator('td').last().click()
    await drawer().getByText('Place in the chain').waitFor()
    await expectFine(page)
    const { body } = await daemon.call('GET', '/artifacts/audit/logs?package=plant-agent', { token: admin })
    const [line] = (body as { items: { hash: string; prev: string }[] }).items
    const said = (await drawer().locator('.chainlist').innerText()).replaceAll(/\s/g, '')
    expect(said).toContain(line?.prev)
    expect(said).toContain(line?.hash)
    // its address opens it again, also where a filter leaves it out
    await page.reload()
    await drawer().getByText('Place in the chain').waitFor()
    await page.getByLabel('Action').selectOption('LOGIN')
    await expect.poll(() => rows().filter({ hasText: 'UPLOAD' }).count()).toBe(0)
    await drawer().getByRole('link', { name: 'plant-agent' }).waitFor()
  })

  test('keys open a line, walk through them and close it', async () => {
    await signInAt(page, `${daemon.url}/#/audit?action=UPLOAD`)
    await expect.poll(() => rows().count()).toBe(2)
    await page.getByRole('region', { name: 'Audit log' }).focus()
    await page.keyboard.press('Enter')
    await drawer().getByRole('link', { name: 'curl' }).waitFor()
    await page.keyboard.press('j')
    await drawer().getByRole('link', { name: 'plant-agent' }).waitFor()
    await page.keyboard.press('k')
    await drawer().getByRole('link', { name: 'curl' }).waitFor()
    await page.keyboard.press('Escape')
    await drawer().waitFor({ state: 'detached' })
  })

  test('new lines come on top, are counted while one is open, and stay away without Follow', async () => {
    await signInAt(page, `${daemon.url}/#/audit?action=UPLOAD`)
    await expect.poll(() => rows().count()).toBe(2)
    await upload('first')
    await expect.poll(() => rows().first().innerText()).toContain('first')
    await rows().first().getByRole('link', { name: 'UPLOAD' }).click()
    await drawer().waitFor()
    await upload('second')
    await page.getByRole('button', { name: '1 new line' }).waitFor()
    expect(await rows().count()).toBe(3)
    await page.keyboard.press('Escape')
    await expect.poll(() => rows().first().innerText()).toContain('second')

    await page.getByRole('switch', { name: 'Follow' }).uncheck()
    const heard = page.waitForResponse(answer => answer.url().includes('/audit/logs'), { timeout: 3_000 })
    await upload('third')
    expect(await heard.then(String, () => 'nothing asked')).toBe('nothing asked')
    expect(await rows().count()).toBe(4)
  })

  test('what is filtered is saved as CSV and as JSON', async () => {
    await signInAt(page, `${daemon.url}/#/audit?q=plant-agent`, 'aud')
    await expect.poll(() => rows().count()).toBe(1)
    const save = async (word: string): Promise<readonly [string, string]> => {
      await page.getByRole('button', { name: 'Export' }).click()
      const saving = page.waitForEvent('download')
      await page.getByRole('menuitem', { name: word }).click()
      const saved = await saving
      return [saved.suggestedFilename(), await readFile(await saved.path(), 'utf8')]
    }
    const [table, lines] = await save('CSV')
    expect([table, lines.trimEnd().split('\r\n').length]).toEqual([
      expect.stringMatching(/^gatehouse-audit-[\d-]{10}\.csv$/),
      2,
    ])
    const [list, text] = await save('JSON')
    expect([list, JSON.parse(text)]).toEqual([
      expect.stringMatching(/^gatehouse-audit-[\d-]{10}\.json$/),
      [expect.objectContaining({ package: 'plant-agent' })],
    ])
    // the log itself is for admins: an auditor is not led to it
    await rows().first().getByRole('link', { name: 'UPLOAD' }).click()
    await drawer().getByText('Request', { exact: true }).waitFor()
    expect(await drawer().getByRole('link', { name: 'Log lines of this request' }).count()).toBe(0)
  })
})
