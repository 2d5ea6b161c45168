import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, noBrowser } from './support/browser.ts'
import { signInAt, visits } from './support/visits.ts'

const VEX = {
  '@context': 'https://openvex.dev/ns/v0.2.0',
  '@id': 'https://example.com/vex-1',
  'author': 'Example Corp',
  'timestamp': '2026-01-05T09:00:00Z',
  'statements': [
    {
      vulnerability: { name: 'CVE-2026-7' },
      products: [{ '@id': 'pkg:deb/acme/tool@1.0' }],
      status: 'not_affected',
      justification: 'vulnerable_code_not_present',
    },
  ],
}

describe.skipIf(noBrowser !== undefined)("suppliers' documents in the console", () => {
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
    folder = await mkdtemp(join(tmpdir(), 'gh-vex-'))
    const findings = { 'tool 1.0': [{ id: 'CVE-2026-7', severity: 'high', summary: 'A hole.' }] }
    await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings }))
    daemon = await startDaemon({
      entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
      env: { FAKE_ANSWERS: join(folder, 'answers.json') },
    })
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    await daemon.upload(await buildDeb({ name: 'tool', version: '1.0' }), { token, distribution: 'jammy' })
  }, 120_000)
  afterAll(async () => {
    await daemon?.close()
    await rm(folder, { recursive: true, force: true })
  })
  const dialog = () => page.getByRole('dialog')
  const give = async (document: unknown): Promise<void> => {
    await page.getByRole('button', { name: 'Add a VEX document' }).click()
    await dialog()
      .getByLabel('The document')
      .setInputFiles({ name: 'vex.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(document)) })
    await dialog().getByRole('button', { name: 'Add', exact: true }).click()
  }

  test('are refused with their reason, close a finding, and open it again when they go', async () => {
    await signInAt(page, `${daemon.url}/#/packages?pick=tool&tab=findings`)
    await page.getByText('No document lies beside this package.').waitFor()
    await give({ ...VEX, author: undefined })
    await dialog().getByText('The VEX document is refused: it has no author. Nothing was changed.').waitFor()
    await page.keyboard.press('Escape')
    await give(VEX)
    await page.getByText('It closes CVE-2026-7.').waitFor()
    await page.getByText('CVE-2026-7: not affected, the vulnerable code is not in it').waitFor()
    await page.locator('.drawer header').getByText('Published', { exact: true }).waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Remove the document of Example Corp' }).click()
    await dialog().getByText('CVE-2026-7 will count again, by the policy of today.').waitFor()
    await dialog().getByRole('button', { name: 'Remove the document' }).click()
    await page.getByText('No document lies beside this package.').waitFor()
    await page.locator('.drawer header').getByText('Published', { exact: true }).waitFor({ state: 'detached' })
  })
})
