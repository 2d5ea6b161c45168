import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { noBrowser } from './support/browser.ts'
import { expectFine, settled, signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('the dashboard', () => {
  let daemon: Daemon
  let folder: string
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  // 1.0 is clean, 2.0 waits, 3.0 is quarantined
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-dash-'))
    const findings = {
      'vuln 2.0': [{ id: 'CVE-2026-2', severity: 'high', fixed_in: '9.0' }],
      'vuln 3.0': [{ id: 'CVE-2026-3', severity: 'critical', kev: true }],
    }
    await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings, unavailable: [] }))
    daemon = await startDaemon({
      entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
      env: { FAKE_ANSWERS: join(folder, 'answers.json') },
    })
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    for (const version of ['1.0', '2.0', '3.0'])
      await daemon.upload(await buildDeb({ name: 'vuln', version }), { token })
  })
  afterAll(async () => {
    await daemon?.close()
    await rm(folder, { recursive: true })
  })
  const signIn = (at: string): Promise<void> => signInAt(page, `${daemon.url}/${at}`)
  const listed = async (): Promise<number> => {
    await settled(page)
    return page.locator('[aria-label="Package list"] tbody tr').count()
  }

  test('the gate says what each step made of the packages, and each number leads to them', async () => {
    await signIn('#/dashboard')
    const gate = page.getByRole('region', { name: 'The gate' })
    await gate.getByText('3 packages came in over 30 days. 2 are not published.').waitFor()
    await expectFine(page)
    const scan = gate.getByRole('listitem').filter({ hasText: 'CVE scan' })
    await scan.getByRole('link', { name: '1 held' }).click()
    await page.getByRole('button', { name: 'CVE scan: held' }).waitFor()
    expect(await listed()).toBe(1)
    await page.getByRole('row', { name: /2\.0/ }).waitFor()
    await expectFine(page)
    await page.goBack()
    await scan.getByRole('link', { name: '1 refused' }).click()
    await page.getByRole('row', { name: /3\.0/ }).waitFor()
    await page.getByRole('button', { name: 'CVE scan: refused' }).click() // and the filter goes
    await page.getByRole('row', { name: /1\.0/ }).waitFor()
    expect(await listed()).toBe(3)
  })

  test('what came in is a chart, and a table behind it; vulnerabilities and the next jobs stand beside', async () => {
    await signIn('#/dashboard')
    await page.getByRole('img', { name: '2 packages came in, 1 was stopped' }).waitFor()
    await page.getByRole('button', { name: 'Table', exact: true }).click()
    await page.waitForURL(/as=table/)
    await page.getByRole('region', { name: 'Arrivals by day' }).getByRole('row', { name: /2 1$/ }).waitFor()
    await page.getByRole('region', { name: 'Next jobs' }).getByRole('listitem').first().waitFor()
    await expectFine(page)
    await page
      .getByRole('row', { name: /Critical/ })
      .getByRole('link')
      .last()
      .click()
    await page.waitForURL(/severity=critical&kev=1/)
    await page.getByText('CVE-2026-3').first().waitFor()
  })

  test('each number leads to a list with exactly so many rows', async () => {
    await signIn('#/dashboard?as=table')
    const pane = page.getByRole('region', { name: 'Overview' })
    await pane.getByRole('region', { name: 'Arrivals by day' }).getByRole('link').first().waitFor()
    await pane.getByRole('listitem').filter({ hasText: 'CVE scan' }).getByRole('link').first().waitFor()
    await pane.getByText('in any state; equal files are stored once').waitFor()
    await pane.getByText('came in today (UTC)').waitFor()
    await settled(page)
    const links = await pane.locator('a[href]').evaluateAll(all =>
      all.map(one => ({
        said: (one.querySelector('.v') ?? one).textContent.trim(),
        href: one.getAttribute('href') ?? '',
      })),
    )
    const numbers = [
      ...new Map(
        links
          .filter(({ said, href }) => /^(passed\s+)?\d/.test(said) && !/\/health$|sort=-size/.test(href))
          // days and severities have many of nothing
          .filter(({ said, href }) => said !== '0' || href.startsWith('#/packages'))
          .map(one => [`${one.href} ${one.said}`, one]),
      ).values(),
    ]
    expect(
      numbers.map(({ href }) => /^#\/(\w+)/.exec(href)?.[1]).filter(one => one === 'packages').length,
    ).toBeGreaterThan(9)
    const wrong: string[] = []
    for (const { said, href } of numbers) {
      await page.goto(`${daemon.url}/${href}`)
      await page.locator('.bar h1').waitFor()
      await settled(page)
      const rows = await page.locator('table tbody tr:has(td ~ td)').count() // without headings of days
      if (rows !== Number(/\d+/.exec(said)?.[0])) wrong.push(`${said}: ${href} has ${rows}`)
    }
    expect(wrong).toEqual([])
    expect(numbers.map(({ href }) => href)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^#\/audit\?arrivals=taken/),
        expect.stringMatching(/^#\/audit\?arrivals=stopped/),
        expect.stringMatching(/^#\/packages\?origin=uploaded/),
        expect.stringMatching(/^#\/packages\?since=[^&]+T00%3A00%3A00.000Z$/),
        '#/packages?state=any',
        expect.stringMatching(/^#\/packages\?origin=imported/), // nothing was
        '#/packages?dist=jammy&state=published',
        '#/review',
      ]),
    )
  })

  test('the days are in the address', async () => {
    await signIn('#/dashboard?days=7')
    await page.getByText('came in over 7 days.').waitFor()
    await page.getByRole('button', { name: '90 days' }).click()
    await page.waitForURL(/days=90/)
    await page.getByText('came in over 90 days.').waitFor()
  })
})
