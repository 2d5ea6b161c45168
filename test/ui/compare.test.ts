import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, noBrowser, tooWide } from './support/browser.ts'
import { signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('two versions of a package in the console', () => {
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
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    const put = async (version: string, depends: string, files: Record<string, string>): Promise<void> => {
      const bytes = await buildDeb({ name: 'tool', version, fields: { Depends: depends }, files })
      await daemon.upload(bytes, { token, distribution: 'jammy' })
    }
    await put('1.0', 'libc6 (>= 2.31), zlib1g', { 'usr/bin/tool': 'one', 'usr/share/tool/old': 'x' })
    await put('2.0', 'libc6 (>= 2.36), zlib1g', { 'usr/bin/tool': 'two', 'usr/share/tool/new': 'x' })
  }, 120_000)
  afterAll(() => daemon?.close())

  test('are compared from the drawer; the address keeps which, and what differs is saved as a table', async () => {
    await signInAt(page, `${daemon.url}/#/packages?pick=tool`)
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Compare tool' })
    await dialog.getByText('libc6 (>= 2.36)').waitFor()
    await dialog.getByRole('row', { name: /usr\/bin\/tool other content/ }).waitFor()
    expect(new URL(page.url()).hash).toContain('with=1.0')
    // what both need stands on both sides, as in the design
    const needs = (side: string) => dialog.getByRole('list', { name: `Dependencies: ${side}` }).getByRole('listitem')
    const said = async (side: string) =>
      (await needs(side).allTextContents()).map(text => text.replace(/\s+/g, ' ').trim())
    expect([await said('Before'), await said('After')]).toEqual([
      ['− Gone: libc6 (>= 2.31)', 'zlib1g'],
      ['+ New: libc6 (>= 2.36)', 'zlib1g'],
    ])
    await dialog.getByRole('row', { name: /^Size .* (\+|−)\d+ B|the same/ }).waitFor()
    // no engine looked them up: that is not the same as none
    const findings = dialog.locator('section', { has: page.getByRole('heading', { name: 'Findings' }) })
    expect(await findings.textContent()).toMatch(/None is known in either\..*there may be more/s)
    expect(await findings.getByText('None in either.').count()).toBe(0)
    await dialog.getByRole('button', { name: 'New 1' }).click()
    await dialog.getByRole('row', { name: /usr\/share\/tool\/new/ }).waitFor()
    await dialog.getByRole('row', { name: /usr\/bin\/tool/ }).waitFor({ state: 'detached' })
    expect([await axeProblems(page), await tooWide(page)]).toEqual([[], 0])

    const saving = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('menuitem', { name: /^CSV/ }).click()
    const text = await readFile(await (await saving).path(), 'utf8')
    const rows = text.trimEnd().split('\r\n').slice(1)
    expect(rows.filter(row => row.includes(',file,')).map(row => row.split(',').slice(3, 6).join())).toEqual([
      'file,changed,usr/bin/tool',
      'file,added,usr/share/tool/new',
      'file,removed,usr/share/tool/old',
    ])
    expect(rows).toContain('tool,1.0,2.0,dependency,removed,libc6 (>= 2.31),,,,')

    // loaded open, it leaves without an error: its button takes the tip with it
    await page.reload()
    await dialog.getByText('libc6 (>= 2.36)').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    await dialog.getByText('libc6 (>= 2.36)').waitFor()

    await page.reload()
    await page.setViewportSize({ width: 420, height: 800 })
    await dialog.getByText('libc6 (>= 2.36)').waitFor()
    expect([await axeProblems(page), await tooWide(page)]).toEqual([[], 0])
    // no word is broken within a syllable
    const content = dialog.getByRole('row', { name: /usr\/bin\/tool/ }).getByText('content')
    expect((await content.boundingBox())?.height).toBeLessThan(24)
    await dialog.getByRole('button', { name: 'Close (Esc)' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    await dialog.getByText('libc6 (>= 2.36)').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(new URL(page.url()).hash).not.toContain('with=')
  })

  test('a version that is gone is said to be gone, with the way to another one', async () => {
    await signInAt(page, `${daemon.url}/#/packages?pick=tool&version=2.0&with=0.5&within=jammy&warch=amd64`)
    const dialog = page.getByRole('dialog', { name: 'Compare tool' })
    await dialog.getByText('There is no 0.5 of tool in jammy for amd64').waitFor()
    expect(await dialog.getByRole('table').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Compare with 1.0' }).click()
    await dialog.getByText('libc6 (>= 2.31)').waitFor()
    // without a place, the version that was named is shown, and no other
    await page.goto(`${daemon.url}/#/packages?pick=tool&version=1.0&with=2.0`)
    await dialog.getByRole('list', { name: 'Dependencies: Before' }).getByText('libc6 (>= 2.36)').waitFor()
    await page.goto(`${daemon.url}/#/packages?pick=tool&version=0.5`)
    await page.getByText('There is no 0.5 here').waitFor()
  })

  test('the drawer says how long each step took, and saves the bill of materials beside what is inside', async () => {
    await signInAt(page, `${daemon.url}/#/packages?pick=tool`)
    const gate = page.getByRole('list', { name: 'The gate' })
    await gate.waitFor()
    const times = await gate.locator('.time').allTextContents()
    expect(times.length).toBeGreaterThan(3)
    for (const said of times) expect(said).toMatch(/^(under 0\.1|\d+\.\d) s$/)
    await page.getByRole('tab', { name: 'Inside' }).click()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'SPDX' }).click()
    expect(JSON.parse(await readFile(await (await saving).path(), 'utf8'))).toMatchObject({ spdxVersion: 'SPDX-2.3' })
    expect(await axeProblems(page)).toEqual([])
  })

  test('a list is saved with the rows that its filter leaves, and no others', async () => {
    await signInAt(page, `${daemon.url}/#/packages?q=tool&sort=-name`)
    await page.getByRole('row', { name: /tool/ }).first().waitFor()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('menuitem', { name: /^JSON/ }).click()
    const rows = JSON.parse(await readFile(await (await saving).path(), 'utf8')) as { version: string }[]
    expect(rows.map(({ version }) => version).sort()).toEqual(['1.0', '2.0'])
  })

  test('what happened to a package stands beside it', async () => {
    await signInAt(page, `${daemon.url}/#/packages?pick=tool&tab=history`)
    await page.getByRole('tab', { name: 'History' }).waitFor()
    const lines = page.getByRole('tabpanel').getByRole('listitem')
    await lines.first().waitFor()
    expect(await lines.count()).toBeGreaterThanOrEqual(2)
    // the text has the room beside the symbol, not under it
    expect((await lines.first().locator('p').boundingBox())?.width).toBeGreaterThan(200)
    expect(await lines.first().locator('svg').count()).toBe(1)
    expect(await axeProblems(page)).toEqual([])
  })

  test('the export of a refused version holds what there is, and says that its files are missing', async () => {
    await daemon.call('POST', '/security/packages/tool/1.0/quarantine', { token: await daemon.setupAdmin(), body: {} })
    await signInAt(page, `${daemon.url}/#/packages?pick=tool&version=2.0&with=1.0&within=jammy&warch=amd64`)
    const dialog = page.getByRole('dialog', { name: 'Compare tool' })
    await dialog.getByText('The files of tool 1.0 cannot be compared').waitFor()
    const saving = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('menuitem', { name: /^JSON/ }).click()
    const rows = JSON.parse(await readFile(await (await saving).path(), 'utf8')) as Record<string, string>[]
    expect(rows).toContainEqual(expect.objectContaining({ kind: 'dependency', what: 'libc6 (>= 2.36)' }))
    expect(rows.filter(({ kind, change }) => kind === 'file' && change === 'unknown')).toEqual([
      expect.objectContaining({ what: expect.stringContaining('cannot be compared') as string }),
    ])
  })
})
