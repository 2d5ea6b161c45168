import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { noBrowser, openPage } from './support/browser.ts'
import { PASSWORD, signInAt, visits } from './support/visits.ts'

const HIGH = { id: 'CVE-2026-1001', severity: 'high', summary: 'A hole in the door.' } as const

describe.skipIf(noBrowser !== undefined)('two people at once in the console', () => {
  let daemon: Daemon
  let admin: string
  let folder: string
  let page: Page
  const visit = visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-ui-together-'))
    const names = ['alpha', 'beta', 'gamma', 'delta']
    await writeFile(
      join(folder, 'answers.json'),
      JSON.stringify({ findings: Object.fromEntries(names.map(name => [`${name} 1.0`, [HIGH]])) }),
    )
    daemon = await startDaemon({
      entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
      env: { FAKE_ANSWERS: join(folder, 'answers.json') },
    })
    admin = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
    for (const [username, role] of [
      ['mae', 'maintainer'],
      ['max', 'maintainer'],
      ['rita', 'reader'],
    ] as const)
      await daemon.call('POST', '/auth/users', { token: admin, body: { username, password: PASSWORD, role } })
    for (const name of names)
      expect((await daemon.upload(await buildDeb({ name, version: '1.0' }), { token: admin })).body.status).toBe(
        'pending_review',
      )
  })
  afterAll(async () => {
    await daemon?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const open = (name: string): string => `#/review?pick=${name}&version=1.0&in=jammy&arch=amd64`
  const decisionsAbout = async (name: string): Promise<string[]> =>
    (
      await daemon.call<{ items: { user: string }[] }>(
        'GET',
        `/artifacts/audit/logs?package=${name}&action=SECURITY_DECISION`,
        { token: admin },
      )
    ).body.items.map(item => item.user)
  async function second(at: string): Promise<{ readonly page: Page; readonly close: () => Promise<void> }> {
    const other = await openPage(visit.browser, daemon.url, { address: nextAddress() })
    await signInAt(other.page, `${daemon.url}/${at}`, 'max')
    return {
      page: other.page,
      close: async () => {
        await other.context.close()
        expect(other.complaints).toEqual([])
      },
    }
  }

  test('what one decides the other sees without a reload, and does not decide on by accident; what was typed stays', async () => {
    await signInAt(page, `${daemon.url}/${open('alpha')}`, 'mae')
    const other = await second(open('alpha'))
    for (const one of [page, other.page]) await one.getByText('Live', { exact: true }).waitFor()
    await other.page.getByRole('radio', { name: /^Approve/ }).check()
    await other.page.getByLabel('Justification').fill('We need it.')
    await page.getByRole('radio', { name: /^Reject/ }).check()
    await page.getByLabel('Justification').fill('I would not.')
    await page.getByRole('button', { name: /^Reject/ }).click()
    await other.page.getByText('This does not wait for review any more.').waitFor()
    const approve = other.page.getByRole('button', { name: /^Approve/ })
    await expect.poll(() => approve.getAttribute('aria-disabled')).toBe('true')
    await other.page.getByLabel('Justification').press('Control+Enter')
    // why stands at the button, also on a phone
    const why = other.page.locator('.pane-foot').getByRole('status')
    expect(await why.innerText()).toBe('mae decided meanwhile. It does not wait for you any more.')
    await approve.hover()
    expect(await other.page.locator('.tip').textContent()).toBe(
      'mae decided meanwhile. It does not wait for you any more.',
    )
    expect([await other.page.getByLabel('Justification').inputValue(), await decisionsAbout('alpha')]).toEqual([
      'We need it.',
      ['mae'],
    ])
    // to decide over somebody is a step of its own
    await other.page.getByRole('button', { name: 'Decide all the same' }).click()
    await approve.click()
    await other.page.getByText('Approved: alpha 1.0').waitFor()
    expect(await decisionsAbout('alpha')).toEqual(['max', 'mae'])
    await other.close()
  })

  test('many events at once are few reads, and what was refused is not asked again with each', async () => {
    await signInAt(page, `${daemon.url}/#/review?pick=a&version=1.0&in=__proto__`, 'mae')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Back to the queue' }).waitFor()
    const asked = { refused: 0, queue: 0 }
    page.on('response', reply => {
      if (reply.status() >= 400) asked.refused++
      if (/\/review-queue\?.*page=/.test(reply.url()) && !reply.url().includes('overdue')) asked.queue++
    })
    // each upload is three events and more
    for (let n = 0; n < 8; n++)
      await daemon.upload(await buildDeb({ name: `event-${n}`, version: '1.0' }), { token: admin })
    await expect.poll(() => asked.queue).toBeGreaterThan(0)
    expect(asked.refused).toBeLessThan(8)
    expect(asked.queue).toBeLessThan(24)
  })

  test('what somebody else decides leaves the list, and is no longer ticked', async () => {
    await signInAt(page, `${daemon.url}/#/review`, 'mae')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.getByText('3 of 3 ticked').waitFor()
    await daemon.call('POST', '/security/packages/beta/1.0/decide', {
      token: admin,
      body: { decision: 'reject', justification: 'No.' },
    })
    await page.getByText('2 of 2 ticked').waitFor()
    // the rows do not move under the ticks
    await page.getByRole('row', { name: /beta/ }).getByText('does not wait here any more').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /beta/ }).waitFor({ state: 'detached' })
  })

  test('on a slow network a decision is sent once, after the time to undo it', async () => {
    await signInAt(page, `${daemon.url}/${open('gamma')}`, 'mae')
    let goOn = (): void => {}
    const held = new Promise<void>(resolve => {
      goOn = resolve
    })
    let sent = 0
    await page.route('**/decide', async route => {
      sent++
      await held
      await route.continue()
    })
    await page.getByRole('radio', { name: /^Approve/ }).check()
    await page.getByLabel('Justification').fill('We need it.')
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByText('It is not sent yet.').waitFor()
    await page.getByText('It is not sent yet.').waitFor({ state: 'detached' })
    await page.goto(`${daemon.url}/${open('gamma')}`)
    goOn()
    await page.getByText('Approved: gamma 1.0').waitFor()
    expect([sent, await decisionsAbout('gamma')]).toEqual([1, ['mae']])
  })

  test('a dialog works once however often it is pressed, and stays with its reason when it is refused', async () => {
    await daemon.call('POST', '/auth/users', {
      token: admin,
      body: { username: 'gone', password: PASSWORD, role: 'reader' },
    })
    await signInAt(page, `${daemon.url}/#/users`)
    let goOn = (): void => {}
    const held = new Promise<void>(resolve => {
      goOn = resolve
    })
    let sent = 0
    await page.route('**/auth/users/gone', async route => {
      sent++
      await held
      await route.continue()
    })
    await page.getByRole('button', { name: 'Delete gone' }).click()
    const dialog = page.getByRole('dialog')
    await daemon.call('DELETE', '/auth/users/gone', { token: admin }) // somebody else was faster
    await dialog.getByRole('button', { name: 'Delete the account' }).click()
    const busy = dialog.getByRole('button', { name: 'Deleting' })
    await busy.waitFor()
    await busy.click({ force: true }) // it cannot be pressed; somebody presses it all the same
    goOn()
    await dialog.getByRole('alert').waitFor()
    expect([
      sent,
      await dialog.getByRole('button', { name: 'Delete the account' }).getAttribute('aria-disabled'),
    ]).toEqual([1, null])
  })
})
