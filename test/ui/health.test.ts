import type { Page, Route } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

const GONE = 'The database does not answer: no connection.'
const HOST = {
  ok: true,
  collected_at: '2026-11-23T15:00:00.000Z',
  uptime_seconds: 3_542_400,
  cores: 4,
  load: { one: 0.62, five: 0.5, fifteen: 0.4, per_core: 0.16 },
  memory: { total_mb: 16_384, available_mb: 8_192, used_pct: 50, limit_mb: 2_048 },
  swap: null,
  disks: [
    { holds: ['packages', 'logs'], free_gb: 548.2, total_gb: 960, used_pct: 42.9 },
    { holds: ['database'], free_gb: null, total_gb: null, used_pct: null, why: 'It is looked at where it runs.' },
  ],
  temperature_c: null,
  unknown: {},
}
const FORECAST = {
  days_until_full: 456,
  days_until_uploads_stop: 450,
  bytes_per_day: 1_200_000_000,
  samples: 14,
  since: '2026-11-09T00:00:00.000Z',
  why: null,
}

type Report = Record<string, unknown> & {
  checks: Record<'critical' | 'non_critical' | 'info', Record<string, Record<string, unknown>>>
}

describe.skipIf(noBrowser !== undefined)('health in the console', () => {
  let page: Page
  let real: Report
  let admin: string
  const team = people(stage => {
    ;({ page, admin } = stage)
  })
  const { asAdmin, signIn, addUser, isFine } = team
  const row = (name: string) => page.getByRole('listitem').filter({ hasText: name })
  const card = (name: string | RegExp) => page.getByRole('region', { name })
  /** Answers with the real report, changed. */
  async function tell(change: (report: Report) => void, status = 200): Promise<void> {
    const { timestamp: _, ...rest } = structuredClone(real)
    const report = rest as Report
    change(report)
    await page.route(
      url => url.pathname === '/health',
      (route: Route) =>
        route.fulfill({
          status,
          contentType: 'application/json',
          body: JSON.stringify({ timestamp: new Date().toISOString(), ...report }),
        }),
    )
  }
  beforeAll(async () => {
    await addUser('rui', 'reader')
  })
  beforeEach(async () => {
    real = (await (await fetch(`${team.daemon.url}/health`)).json()) as Report
  })

  test('what nobody could look at is unknown, not good, and no backup is something to do, with its screen', async () => {
    await tell(({ checks: { info } }) => {
      for (const name of ['host', 'forecast', 'reserve']) delete info[name]
    })
    await asAdmin('#/health')
    for (const name of ['The report does not say when it is full', 'Reserve file'])
      expect(await row(name).getAttribute('data-state')).toBe('unknown')
    await card('Machine').getByText('The report says nothing of it').waitFor()
    await page.getByText('unknown', { exact: true }).first().waitFor()
    await page.getByRole('heading', { name: /^It works, with \d+ things to do$/ }).waitFor()
    const backup = card('Backup needs attention')
    await backup.getByText('Make one, and set when they are made by themselves.').waitFor()
    await isFine()
    await backup.getByRole('link', { name: 'Backups' }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Backups' }).waitFor()
  })

  test('disks, forecast, machine and the next jobs are shown as the report has them', async () => {
    await tell(({ checks: { info } }) => {
      info.host = HOST
      info.forecast = FORECAST
      info.reserve = {
        state: 'kept',
        wanted_mb: 512,
        kept_mb: 512,
        given_back_at: null,
        given_back_by: null,
        why: null,
      }
      info.backups = { ok: true, count: 3, last_backup: new Date().toISOString(), last_proved_restore: null }
    })
    await asAdmin('#/health')
    const disks = card('Disks')
    await disks.getByText('Packages and logs').waitFor()
    expect((await disks.innerText()).replaceAll(/\s+/g, ' ')).toMatch(
      /548 GB free of 960 .*It is looked at where it runs\..*Full in about 15 months uploads stop in about 15 months; 1.2 GB more a day.*512 MB kept for a full disk/,
    )
    expect(await disks.getByRole('img', { name: '42.9 % used' }).count()).toBe(1)
    const machine = (await card('Machine').innerText()).replaceAll(/\s+/g, ' ')
    expect(machine).toContain('0.62, 0.50, 0.40 over 1, 5 and 15 minutes; 4 cores')
    expect(machine).toContain('8 GB free of 16; this process may have 2')
    expect(machine).toContain('The machine shows no sensor.')
    expect(await card('Next by the clock').locator('tbody tr').count()).toBe(6)
    await card('Proved restore needs attention').getByText('Prove the newest one: nothing here changes.').waitFor()
    await isFine()
  })

  test('a check that fails says cause and remedy, and an unhealthy service is not called well', async () => {
    await tell(report => {
      report.status = 'unhealthy'
      Object.assign(report.checks.critical.manifest_db ?? {}, {
        ok: false,
        error: GONE,
        effect: 'Nobody can sign in until it answers.',
        remedy: 'Check that PostgreSQL runs.',
      })
    }, 503)
    await asAdmin('#/health')
    await page.getByRole('heading', { name: 'A check fails without which nothing is served' }).waitFor()
    const problem = card('Package database needs attention')
    await problem.getByText(GONE).waitFor()
    await problem.getByText('Nobody can sign in until it answers.').waitFor()
    await problem.getByText('Check that PostgreSQL runs.').waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    await isFine()
  })

  test('a job that failed, no backup and a wrong clock are something to do, and what helps begins from here', async () => {
    const begun: string[] = []
    await page.route(
      url => /\/schedule(\/|$)/.test(url.pathname),
      async (route: Route) => {
        if (route.request().method() === 'POST') {
          begun.push(new URL(route.request().url()).pathname.split('/').at(-2) ?? '')
          return route.continue()
        }
        const answer = await route.fetch()
        const schedule = (await answer.json()) as { jobs: { id: string; last: unknown }[] }
        for (const job of schedule.jobs)
          if (job.id === 'sla')
            job.last = { due_at: null, ran_at: '2026-11-23T08:00:00Z', took_ms: 1, error: 'the mail server is away' }
        return route.fulfill({ response: answer, json: schedule })
      },
    )
    await tell(report => {
      report.timestamp = new Date(Date.now() - 5 * 60_000).toISOString()
    })
    await asAdmin('#/health')
    await card('Clock needs attention').getByText('5 minutes from this computer.').waitFor()
    await card('Backup needs attention').getByText('What is lost with this disk cannot be brought back.').waitFor()
    const failed = card('Tell of deadlines that were missed needs attention')
    await failed.getByText('The mail server is away.').waitFor()
    await failed.getByRole('button', { name: 'Run now' }).click()
    await expect.poll(() => begun).toEqual(['sla'])
    await isFine()
  })

  test('a full disk is urgent, and says so with days and with what to delete', async () => {
    await tell(({ checks: { info } }) => {
      info.forecast = { ...FORECAST, days_until_full: 12, days_until_uploads_stop: 0 }
      info.reserve = {
        state: 'missing',
        wanted_mb: 512,
        kept_mb: 0,
        given_back_at: '2026-11-23T14:00:00.000Z',
        given_back_by: 'p.raman',
        why: 'There is too little room for it.',
      }
    })
    await asAdmin('#/health')
    const disk = card('Disk needs attention')
    await disk.getByText('Full in about 12 days').waitFor()
    await disk.getByText('uploads stop now', { exact: false }).waitFor()
    await card('Reserve file needs attention').getByText('There is too little room for it.').waitFor()
    await disk.getByRole('link', { name: 'What nobody fetches' }).click()
    await page.getByRole('heading', { level: 1, name: 'Downloads' }).waitFor()
  })

  test('load and memory are drawn by day and machine; what nobody measured is a gap', async () => {
    const date = (n: number): string => new Date(Date.now() - n * 86_400_000).toISOString().slice(0, 10)
    const day = (n: number, hours: number, load: number | null) => ({
      date: date(n),
      hours,
      load_mean: load,
      load_peak: load === null ? null : load * 2,
      memory_mean_mb: load === null ? null : 2_048,
      memory_peak_mb: load === null ? null : 3_072,
    })
    const machine = (name: string, here: boolean, days: readonly object[]) => ({
      machine: name,
      here,
      last_at: new Date().toISOString(),
      cores: 2,
      memory_total_mb: 4_096,
      days,
    })
    const asked: string[] = []
    await page.route('**/api/v1/host/history*', route => {
      asked.push(new URL(route.request().url()).search)
      return route.fulfill({
        json: {
          machines: [
            machine('gate-1', true, [day(2, 0, null), day(1, 13, 0.5), day(0, 3, 0)]),
            machine('gate-2', false, [day(2, 24, 1), day(1, 0, null), day(0, 0, null)]),
          ],
        },
      })
    })
    await asAdmin('#/health')
    const history = card('Load and memory')
    await history.getByRole('img', { name: 'Load of gate-1, at most 1; 2 days measured of 3' }).waitFor()
    await history.getByRole('img', { name: 'Used memory of gate-1, at most 3 GB; 2 days measured of 3' }).waitFor()
    await history.getByText('As a table').first().click()
    const rows = history.getByRole('table', { name: /^Load of/ }).locator('tbody tr')
    expect((await rows.allInnerTexts()).map(text => text.replaceAll(/\s+/g, ' ').trim())).toEqual([
      `${date(0)} 0 0`,
      `${date(1)} 0.5 1 measured in 13 of 24 hours`,
      `${date(2)} no data`,
    ])
    await isFine()
    await history.getByRole('combobox', { name: 'Machine' }).selectOption('gate-2')
    await page.waitForURL(/machine=gate-2/)
    await history.getByRole('img', { name: /^Load of gate-2, at most 2; 1 day measured/ }).waitFor()
    await history.getByRole('button', { name: '7 days' }).click()
    await page.waitForURL(/days=7/)
    await expect.poll(() => asked.at(-1)).toBe('?days=7')
    await page.setViewportSize({ width: 420, height: 900 })
    await isFine()
  })

  test('the reserve is given back after a question, and only by an admin; the disk is drawn over its days', async () => {
    await team.patch({ disk: { reserve_mb: 16 } })
    await tell(({ checks: { info } }) => {
      info.reserve = { state: 'kept', wanted_mb: 16, kept_mb: 16, given_back_at: null, given_back_by: null, why: null }
    })
    const day = (n: number, used: number) => ({
      at: new Date(Date.now() - n * 86_400_000).toISOString(),
      used_bytes: used * 1e9,
      free_bytes: (100 - used) * 1e9,
    })
    const { body } = await team.daemon.call('GET', '/disk', { token: admin })
    const days = [day(20, 40), day(10, 50), day(0, 60)]
    await page.route('**/api/v1/disk', route =>
      route.fulfill({ json: { ...(body as object), forecast: FORECAST, days } }),
    )
    await asAdmin('#/health')
    const disks = card('Disks')
    await disks
      .getByRole('img', { name: /^Used disk space: 40 GB on .* 60 GB of 100 GB now, full in about 15 months$/ })
      .waitFor()
    await disks.getByText('As a table').press('Enter')
    await disks.getByRole('row').filter({ hasText: '50 GB' }).waitFor()
    await isFine()
    let asked = 0
    await page.route('**/disk/reserve/give-back', route => {
      asked++
      return asked === 1
        ? route.fulfill({ status: 409, json: { detail: 'There is no reserve to give back.', code: 'no_reserve' } })
        : route.fulfill({ json: { status: 'ok', message: '16 MB are free again.', freed_bytes: 16, reserve: {} } })
    })
    await disks.getByRole('button', { name: 'Give it back' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Give the reserve back' })
    await dialog.getByText('16 MB become free at once').waitFor()
    await isFine()
    expect(asked).toBe(0)
    await dialog.getByRole('button', { name: 'Give it back' }).click()
    await dialog.getByText('There is no reserve to give back.').waitFor()
    await dialog.getByRole('button', { name: 'Give it back' }).click()
    await page.getByText('16 MB are free again.').waitFor()
  })

  test('a reader reads the report, and is told what only others may do', async () => {
    await signIn('rui', '#/health')
    const right = card('Put right')
    for (const name of ['Rebuild', 'Save'])
      expect(await right.getByRole('button', { name }).getAttribute('aria-disabled')).toBe('true')
    await card('Load and memory').getByText('Needs auditor. You are reader.').waitFor()
    await isFine()
  })

  test('an error keeps what was read, with code and request, and asking again mends it', async () => {
    await asAdmin('#/health')
    await page.getByRole('heading', { name: 'Must work' }).waitFor()
    await page.route(
      url => url.pathname === '/health',
      route =>
        route.fulfill({
          status: 500,
          contentType: 'application/json',
          headers: { 'x-request-id': 'r-17' },
          body: JSON.stringify({ detail: 'Something went wrong here.', code: 'internal' }),
        }),
    )
    await page.getByRole('button', { name: 'Ask again' }).press('Enter')
    await page.getByText('Something went wrong here.').waitFor()
    expect(await page.getByRole('alert').innerText()).toMatch(/internal, request\s+r-17/)
    await page.getByRole('heading', { name: 'Must work' }).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).press('Enter')
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })
})
