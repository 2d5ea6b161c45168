import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ADMIN } from '../support/daemon.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'
import { startVendors, type Vendors } from './support/vendors.ts'
import { settled } from './support/visits.ts'

const HOUR_MS = 3_600_000

describe.skipIf(noBrowser !== undefined)('security updates in the console', () => {
  let page: Page
  let admin: string
  let vendors: Vendors
  const team = people(stage => {
    ;({ page, admin } = stage)
  })
  const { asAdmin, signIn, addUser, isFine } = team
  const button = (name: string | RegExp) => page.getByRole('button', { name }).first()
  const part = (name: string) => page.getByRole('region', { name, exact: true })
  const get = async <T>(path: string): Promise<T> => (await team.daemon.call<T>('GET', path, { token: admin })).body
  const versions = async (): Promise<string[]> => {
    const { items } = await get<{ items: { name: string; versions: string[] }[] }>('/artifacts/?distribution=bookworm')
    return items.flatMap(({ name, versions: all }) => all.map(one => `${name} ${one}`)).sort()
  }

  beforeAll(async () => {
    const login = await team.daemon.call<{ access_token: string }>('POST', '/auth/token', { body: ADMIN })
    const token = login.body.access_token
    const ask = async (method: string, path: string, body: object): Promise<unknown> => {
      const { status, text } = await team.daemon.call(method, path, { token, body })
      if (status >= 400) throw new Error(`${path}: ${text}`)
      return JSON.parse(text || '{}')
    }
    await ask('POST', '/distributions/init', { codename: 'bookworm' })
    vendors = await startVendors(ask)
    await vendors.renew(new Date(Date.now() - HOUR_MS), [])
    for (const target of ['bookworm', 'bookworm-security', 'bookworm-updates'])
      await ask('POST', `/import/sync/start/${target}`, {})
    const syncs = '/import/sync/jobs/active'
    await vi.waitFor(async () => expect((await team.daemon.call('GET', syncs, { token })).body).toEqual({ jobs: [] }), {
      timeout: 60_000,
    })
    await ask('POST', '/import/batch', { packages: ['curl'], distribution: 'bookworm' })
    await vendors.renew(new Date())
    await addUser('rui', 'reader')
    await addUser('mary', 'maintainer')
  })
  afterAll(async () => {
    await vendors?.close()
  })

  test('a run by hand brings what is newer, and its report says what came', async () => {
    await signIn('mary', '#/import?tab=security')
    await part('Distributions').getByText('bookworm', { exact: true }).waitFor()
    await page.getByText('No run has ended yet.', { exact: false }).waitFor()
    await isFine()
    let answer = (): void => undefined
    const until = new Promise<void>(resolve => {
      answer = resolve
    })
    vendors.upstream.rules({ match: /\.deb$/, until })
    await button('Run now').press('Enter')
    await page.getByText('Security updates are being brought.').waitFor()
    await isFine()
    await page.goto(`${team.daemon.url}/#/packages`)
    await button(/^\d jobs? open/).click()
    await page
      .getByRole('dialog', { name: 'Jobs' })
      .getByRole('link', { name: /^Bring security updates/ })
      .click()
    await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor()
    answer()
    await part('Last run').getByText('1 came', { exact: true }).waitFor()
    await part('Last run').getByText('15.15-0+deb12u1', { exact: false }).waitFor()
    await isFine()
    expect(await versions()).toContain('libpq5 15.15-0+deb12u1')
    await part('Runs')
      .getByRole('button', { name: /^Report/ })
      .first()
      .click()
    await page.getByRole('dialog').getByText('begun by mary', { exact: false }).waitFor()
    await isFine()
    await page.keyboard.press('Escape')
  })

  test('what a frozen distribution would get is listed with the reason before a run and after it', async () => {
    await vendors.renew(new Date(), [
      { name: 'libpq5', version: '15.16-0+deb12u1', fields: { Description: 'PostgreSQL C client library' } },
    ])
    await team.daemon.call('POST', '/import/mirror/distributions/bookworm/freeze', { token: admin, body: {} })
    await signIn('mary', '#/import?tab=security')
    await part('Distributions').getByText('Frozen').waitFor()
    await button('Run now').click()
    await part('Last run').getByText('1 missing', { exact: true }).waitFor()
    await part('Last run').getByText('15.16-0+deb12u1', { exact: false }).waitFor()
    await isFine()
    expect(await versions()).not.toContain('libpq5 15.16-0+deb12u1')
    await team.daemon.call('DELETE', '/import/mirror/distributions/bookworm/freeze', { token: admin })
  })

  test('an admin says when it runs and how much it brings; a bound out of range is refused', async () => {
    await asAdmin('#/import?tab=security')
    await button('Schedule and bounds').click()
    const asked = page.getByRole('dialog')
    await asked.getByLabel('Packages in one run').fill('0')
    await asked.getByRole('button', { name: 'Save' }).click()
    await asked.getByRole('alert').waitFor()
    await isFine()
    await asked.getByLabel('At', { exact: true }).fill('02:15')
    await asked.getByLabel('Packages in one run').fill('20')
    await asked.getByLabel('Also beside own builds').check()
    await asked.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Every day at 02:15.', { exact: false }).waitFor()
    const { schedule } = await get<{ schedule: object }>('/import/security-updates')
    expect(schedule).toMatchObject({ hour: 2, minute: 15, own_builds: true, max_packages_per_run: 20 })
  })

  test('a reader sees the report, and is told which role begins a run', async () => {
    await signIn('rui', '#/import?tab=security')
    await part('Last run').waitFor()
    await settled(page)
    for (const name of ['Run now', 'Schedule and bounds'])
      expect(await button(name).getAttribute('aria-disabled'), name).toBe('true')
    await page.getByText('Needs maintainer. You are reader.').first().waitFor({ state: 'attached' })
    await isFine()
  })
})
