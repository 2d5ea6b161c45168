import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { untar } from '../support/untar.ts'
import { noBrowser } from './support/browser.ts'
import { PASSWORD, expectFine, signInAt, visits } from './support/visits.ts'

/** A day in UTC, so many days ago, as an access log prints it. */
function dayAgo(days: number): string {
  const [, day, month, year] =
    /^\w+, (\d\d) (\w+) (\d{4})/.exec(new Date(Date.now() - days * 86_400_000).toUTCString()) ?? []
  return `${day}/${month}/${year}`
}

describe.skipIf(noBrowser !== undefined)('logs and downloads in the console', () => {
  let daemon: Daemon
  let admin: string
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  const rows = (region: string) => page.getByRole('region', { name: region }).locator('tbody tr')

  beforeAll(async () => {
    daemon = await startDaemon({ env: { LOG_LEVEL: 'info' } })
    admin = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
    for (const name of ['plant-agent', 'curl'])
      await daemon.upload(await buildDeb({ name, version: '1.0', arch: 'amd64' }), { token: admin })
    await daemon.call('POST', '/auth/users', {
      token: admin,
      body: { username: 'rui', password: PASSWORD, role: 'reader' },
    })
    const lines = Array.from({ length: 400 }, (_, n) => {
      const [name, days] = [n % 3 === 0 ? 'curl' : 'plant-agent', 1 + (n % 20)]
      const path = `/repos/pool/jammy/main/${name[0]}/${name}/${name}_1.0_amd64.deb`
      return `10.20.${n % 4}.${n % 60} - - [${dayAgo(days)}:10:00:00 +0000] "GET ${path} HTTP/1.1" 200 316000 "-" "Debian APT-HTTP/1.3 (2.6.1)" "-" id-${n}\n`
    })
    await appendFile(join(daemon.root, 'logs', 'trees-other.log'), lines.join(''))
  })
  afterAll(() => daemon.close())

  test('lines come by themselves, one opens with all of its request, and the list stands still meanwhile', async () => {
    await signInAt(page, `${daemon.url}/#/logs`)
    await rows('Log lines').first().waitFor()
    await expectFine(page)
    const asks = (id: string) => daemon.call('GET', '/auth/roles', { headers: { 'X-Request-ID': id } })
    await page.getByText('GET /api/v1/auth/me').first().waitFor()
    await asks('live-1')
    await rows('Log lines').filter({ hasText: 'live-1' }).waitFor()

    await rows('Log lines').filter({ hasText: 'live-1' }).getByRole('button').first().click()
    const drawer = page.getByRole('complementary', { name: 'Log line' })
    await drawer.getByText('This is its only line.').waitFor()
    await expectFine(page)
    await asks('live-2')
    await page.getByRole('button', { name: /new lines?$/ }).waitFor()
    expect(await rows('Log lines').filter({ hasText: 'live-2' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await rows('Log lines').filter({ hasText: 'live-2' }).waitFor()
  })

  test('a request id leads to its lines, and levels and words leave the others out', async () => {
    await daemon.call('GET', '/auth/roles', { headers: { 'X-Request-ID': 'only-me' } })
    await signInAt(page, `${daemon.url}/#/logs?request=only-me&service=all`)
    await rows('Log lines').first().waitFor()
    expect(await rows('Log lines').count()).toBe(1)
    await page.getByRole('button', { name: /^Request only-me/ }).click()
    await expect.poll(() => rows('Log lines').count()).toBeGreaterThan(5)
    await page.getByRole('group', { name: 'Level, at least' }).getByRole('button', { name: 'Error' }).click()
    await page.getByText('No line matches').waitFor()
    await page.getByRole('group', { name: 'Level, at least' }).getByRole('button', { name: 'Info' }).click()
    await page.getByLabel('Search the log').fill('/upload/')
    await expect.poll(() => rows('Log lines').allInnerTexts()).toHaveLength(2)
  })

  test('a packed file of the log is searched, and one that cannot be read is named', async () => {
    const folder = join(daemon.root, 'logs')
    const line = '2026/03/01 10:00:00 [error] 7#7: *1 open() failed, in a packed file\n'
    await writeFile(join(folder, 'error.log'), '')
    await writeFile(join(folder, 'error.log.1.gz'), gzipSync(line).subarray(0, 30))
    await writeFile(join(folder, 'error.log.2.gz'), gzipSync(line))
    await signInAt(page, `${daemon.url}/#/logs?service=apt-repo&q=packed`)
    await rows('Log lines').first().waitFor()
    expect(await rows('Log lines').count()).toBe(1)
    await page.getByText('The lines of error.log.1.gz (unexpected end of file) are not in this list.').waitFor()
    await expectFine(page)
  })

  test('a line of the audit log leads to the log lines of its request', async () => {
    await signInAt(page, `${daemon.url}/#/audit?q=plant-agent`)
    await rows('Audit log').filter({ hasText: 'plant-agent' }).getByRole('link', { name: 'UPLOAD' }).click()
    await page.getByRole('link', { name: 'Log lines of this request' }).click()
    await rows('Log lines').filter({ hasText: 'POST /api/v1/upload/ 201' }).waitFor()
    expect(await rows('Log lines').count()).toBe(1)
  })

  test('the support bundle is saved, and others than admins are told who may read the log', async () => {
    await signInAt(page, `${daemon.url}/#/logs`)
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Support bundle' }).click()
    const saved = await saving
    expect(saved.suggestedFilename()).toMatch(/^gatehouse_support_\d{8}_\d{6}\.tar\.gz$/)
    const members = await untar(await readFile(await saved.path()))
    expect([...members.keys()].some(name => name.endsWith('/health.json'))).toBe(true)
    await page.evaluate(() => sessionStorage.clear())
    await page.reload()
    await signInAt(page, `${daemon.url}/#/logs`, 'rui')
    await page.getByText('The log is for admins').waitFor()
  })

  test('downloads are drawn over an axis that begins at 0, listed, and looked through', async () => {
    await signInAt(page, `${daemon.url}/#/downloads`, 'rui')
    const chart = page.getByRole('img', { name: /^400 downloads in 21 counted days, at most 20 a day/ })
    await chart.waitFor()
    await expectFine(page)
    const axis = await chart.locator('text[text-anchor=end]').allTextContents()
    expect(axis.slice(0, 5)).toEqual(['0', '5', '10', '15', '20'])
    // a bar of the largest day reaches the line of its number, and stands on the line of 0
    const tallest = await chart
      .locator('rect.fill-1')
      .evaluateAll(bars => Math.max(...bars.map(bar => Number(bar.getAttribute('height')))))
    expect(tallest).toBe(150)
    expect(await page.locator('.card').filter({ hasText: 'Top packages' }).locator('tbody tr').allInnerTexts()).toEqual(
      [expect.stringMatching(/plant-agent\s+1\.0\s+266/), expect.stringMatching(/curl\s+1\.0\s+134/)],
    )
    await page.getByRole('button', { name: 'Table' }).click()
    await expect
      .poll(() => page.locator('.card').filter({ hasText: 'Downloads a day' }).locator('tbody tr').count())
      .toBe(30)
    await page.getByRole('button', { name: '7 days' }).click()
    await expect
      .poll(() => page.locator('.card').filter({ hasText: 'Downloads a day' }).locator('tbody tr').count())
      .toBe(7)
    await expectFine(page)
  })
})
