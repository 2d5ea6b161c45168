import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { noBrowser } from './support/browser.ts'
import { visits } from './support/visits.ts'

/** More stops than any screen has. */
const STOPS = 80

/** What a screen reader would call the element that has the focus; a mouse is never used here. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const element = document.activeElement
    const label =
      element instanceof HTMLInputElement ||
      element instanceof HTMLTextAreaElement ||
      element instanceof HTMLSelectElement
        ? [...(element.labels ?? [])].map(one => one.textContent).join(' ')
        : ''
    return (element?.getAttribute('aria-label') ?? (label === '' ? (element?.textContent ?? '') : label))
      .replace(/\s+/g, ' ')
      .trim()
  })

/** Whether the element that has the focus shows it. */
const isSeen = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const element = document.activeElement
    const shown =
      element instanceof HTMLInputElement && element.closest('.opt, .seg > *') !== null
        ? element.closest('.opt, .seg > *')
        : element
    return shown !== null && [element, shown].some(one => one !== null && getComputedStyle(one).outlineStyle !== 'none')
  })

async function tabTo(page: Page, name: RegExp): Promise<void> {
  const met: string[] = []
  for (let n = 0; n < STOPS; n++) {
    const now = await focused(page)
    if (name.test(now)) {
      expect(await isSeen(page), `${now} has the focus and does not show it`).toBe(true)
      return
    }
    met.push(now.slice(0, 40))
    await page.keyboard.press('Tab')
  }
  throw new Error(`${String(name)} is not reached with Tab, only ${met.join(' | ')}`)
}
async function pressOn(page: Page, name: RegExp, key = 'Enter'): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press(key)
}

describe.skipIf(noBrowser !== undefined)('the console with the keyboard alone', () => {
  let daemon: Daemon
  let folder: string
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-ui-keyboard-'))
    await writeFile(
      join(folder, 'answers.json'),
      JSON.stringify({ findings: { 'hello 1.0': [{ id: 'CVE-2026-1001', severity: 'high', summary: 'A hole.' }] } }),
    )
    daemon = await startDaemon({
      entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
      env: { FAKE_ANSWERS: join(folder, 'answers.json') },
    })
  })
  afterAll(async () => {
    await daemon?.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('the way from the first administrator to the install command needs no mouse, and the focus is always seen', async () => {
    await tabTo(page, /^User name/)
    await page.keyboard.type(ADMIN.username.replace('admin', 'p.raman'))
    await tabTo(page, /^Password$/)
    await page.keyboard.type(ADMIN.password)
    await tabTo(page, /^Password again/)
    await page.keyboard.type(ADMIN.password)
    await page.keyboard.press('Enter')

    await page.getByRole('heading', { level: 1, name: 'Where do clients reach this server?' }).waitFor()
    await pressOn(page, /^Later/)
    await page.getByRole('heading', { level: 1, name: 'Which distributions do you serve?' }).waitFor()
    await page.getByRole('checkbox', { name: 'noble' }).waitFor()
    await pressOn(page, /^All of APT/)
    await page.getByRole('button', { name: 'None of APT' }).waitFor()
    await pressOn(page, /^Create 5 repositories/)
    // a large prime is found when it is found
    await page.getByRole('heading', { level: 1, name: 'What the gate looks with' }).waitFor({ timeout: 120_000 })
    await pressOn(page, /^Continue/)
    await page.getByRole('heading', { level: 1, name: 'Where do backups go?' }).waitFor()
    await pressOn(page, /^Later/)
    await page.getByRole('heading', { level: 1, name: /^A second factor for/ }).waitFor()
    await pressOn(page, /^Later/)
    await page.getByRole('heading', { level: 1, name: 'Gatehouse is ready' }).waitFor()
    await pressOn(page, /^Upload the first package/)

    await page.getByRole('heading', { level: 1, name: 'Upload' }).waitFor()
    const choosing = page.waitForEvent('filechooser')
    await pressOn(page, /^Choose files/)
    await (
      await choosing
    ).setFiles([
      {
        name: 'hello_1.0_amd64.deb',
        mimeType: 'application/octet-stream',
        buffer: await buildDeb({ name: 'hello', version: '1.0' }),
      },
    ])
    await page.getByRole('combobox', { name: 'Distribution for .deb' }).waitFor()
    await tabTo(page, /^Distribution for .deb/)
    await page.keyboard.type('jammy')
    await page.getByText('1 held').waitFor()

    await page.keyboard.press('Escape') // no field is left with the focus
    await page.evaluate(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    })
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('region', { name: 'Queue' }).getByRole('row', { name: /hello/ }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'hello', exact: true }).getByRole('heading', { level: 2 }).waitFor()
    await page.keyboard.press('a')
    await page.keyboard.type('Looked at with the team.')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Approved: hello 1.0').waitFor()

    await page.getByText('The queue is empty').waitFor()
    await page.evaluate(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    })
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.getByRole('link', { name: 'hello' }).waitFor()
    await pressOn(page, /^hello$/)
    const command = page.getByRole('region', { name: 'the install command' })
    await command.waitFor()
    expect(await command.textContent()).toContain('hello=1.0')
    await tabTo(page, /^Copy the install command/)
  })

  test('a dialog keeps the focus, closes with Esc, and gives the focus back', async () => {
    await page.getByLabel('User name').waitFor()
    await tabTo(page, /^User name/)
    await page.keyboard.type('p.raman')
    await tabTo(page, /^Password$/)
    await page.keyboard.type(ADMIN.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    await page.getByRole('row', { name: /p\.raman/ }).waitFor()
    await pressOn(page, /^Create user$/)
    const dialog = page.getByRole('dialog', { name: 'Create user' })
    await dialog.waitFor()
    for (let n = 0; n < 12; n++) {
      await page.keyboard.press('Tab')
      expect(
        await page.evaluate(
          () =>
            document.activeElement === document.body ||
            document.querySelector('dialog')?.contains(document.activeElement),
        ),
      ).toBe(true)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await focused(page)).toBe('Create user')
  })
})
