import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXPORT_LISTS } from '../../ui/export-lists.ts'
import { buildWheel, wheelName } from '../support/packages-pypi.ts'
import { startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

describe.skipIf(noBrowser !== undefined)('registries that read through', () => {
  let page: Page
  let admin: string
  let upstream: RegistryUpstream
  const it = people(stage => {
    ;({ page, admin } = stage)
  })
  beforeAll(async () => {
    upstream = await startRegistryUpstream()
  })
  afterAll(() => upstream.close())
  const dialog = () => page.getByRole('dialog')
  const view = (name: string) => page.getByRole('group', { name: 'What is shown' }).getByRole('button', { name })

  /** The list that is shown, as a file. */
  async function saved(format: RegExp): Promise<{ readonly name: string; readonly text: string }> {
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('menuitem', { name: format }).click()
    const file = await saving
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') }
  }

  /** What the other registry has: one old version, and one of today. */
  function list(project: string): void {
    const files = ['1.0', '2.0'].map(version => {
      const spec = { name: project, version }
      const bytes = buildWheel(spec)
      upstream.put(`/files/${wheelName(spec)}`, { body: bytes })
      return {
        'filename': wheelName(spec),
        'url': `${upstream.url}/files/${wheelName(spec)}`,
        'hashes': { sha256: createHash('sha256').update(bytes).digest('hex') },
        'upload-time': version === '1.0' ? '2020-01-01T00:00:00Z' : new Date().toISOString(),
      }
    })
    const type = 'application/vnd.pypi.simple.v1+json'
    upstream.put(`/simple/${project}/`, { type, body: JSON.stringify({ files }) })
  }

  test('an admin makes one, sees what it hides, and lets a version through and back', async () => {
    const settings = { notifications: { allow_private_hosts: '127.0.0.1' } }
    const set = await it.daemon.call('PATCH', '/settings/', { token: admin, body: settings })
    expect(set.status, set.text).toBe(200)
    list('pad')
    await it.asAdmin('#/registries')
    await page.getByRole('button', { name: 'New registry' }).click()
    await dialog().getByLabel('Format').selectOption('pypi')
    await dialog().getByLabel('Kind').selectOption('proxy')
    await dialog().getByLabel('Name').fill('outside')
    await dialog().getByLabel('Address of the other registry').fill('ftp://packages.example')
    await dialog().getByLabel('Days before a new version').fill('7')
    await dialog().getByLabel('could be taken for yours').selectOption('hold')
    await dialog().getByRole('button', { name: 'Make it' }).click()
    await dialog().locator('.field .error').waitFor()
    await it.isFine()
    await dialog().getByLabel('Address of the other registry').fill(`${upstream.url}/simple`)
    await dialog().getByRole('button', { name: 'Make it' }).click()
    await page.getByRole('complementary', { name: /^Set up a client of/ }).waitFor()
    const made = await it.daemon.call('GET', '/registries/outside', { token: admin })
    expect(made.body, made.text).toMatchObject({ hold_lookalikes: true, min_age_days: 7 })
    const asked = await fetch(`${it.daemon.url}/pypi/outside/simple/pad/`)
    expect(asked.status, await asked.text()).toBe(200)

    await page.goto(`${it.daemon.url}/#/registries?in=outside&view=hidden&q=pad`)
    const row = page.getByRole('table', { name: 'Hidden versions' }).getByRole('row', { name: /pad/ })
    await row.getByText('too young').waitFor()
    await row.getByText('It is younger than 7 days').waitFor()
    await it.isFine()
    const hidden = await saved(/^JSON$/)
    expect(hidden.name).toMatch(/^gatehouse-hidden-versions-outside-\d{4}-\d\d-\d\d\.json$/)
    expect(JSON.parse(hidden.text)).toMatchObject([
      { package: 'pad', version: '2.0', because: 'young', said: expect.stringContaining('younger than 7 days') },
    ])
    await page.getByLabel('Why').selectOption('malicious')
    await page.getByText('Nothing hidden fits').waitFor()
    const none = await saved(/^CSV/)
    expect(none.text).toBe(`\uFEFF${EXPORT_LISTS['hidden-versions'].join(',')}\r\n`)
    await page.getByLabel('Why').selectOption('')
    await row.getByRole('button', { name: 'Let through pad 2.0' }).click()
    // a spreadsheet would run it
    await dialog().getByLabel('Why').fill('=1+1 is the fix that we need.')
    await it.isFine()
    await dialog().getByRole('button', { name: 'Let it through' }).click()
    await dialog().waitFor({ state: 'detached' })
    await view('Let through').click()
    await page.getByRole('table', { name: 'Let through' }).getByText('the fix that we need.').waitFor()
    await it.isFine()
    const waivers = await saved(/^CSV/)
    expect(waivers.name).toMatch(/^gatehouse-waivers-outside-/)
    const [titles, waived] = waivers.text.trimEnd().split('\r\n')
    expect(titles).toBe('\uFEFFpackage,version,reason,by,at,expires_at,expired')
    expect(waived).toMatch(/^pad,2\.0,'=1\+1 is the fix that we need\.,admin,[^,]+,[^,]+,false$/)
    // judged anew when its name is asked for
    await fetch(`${it.daemon.url}/pypi/outside/simple/pad/`)
    await view('Hidden').click()
    await page.getByText('Nothing hidden fits').or(page.getByText('Nothing is hidden')).waitFor()
    await view('Let through').click()
    await page.getByRole('button', { name: 'Take back pad 2.0' }).click()
    await dialog().getByRole('button', { name: 'Take it back' }).click()
    await page.getByText('Nothing is let through').waitFor()
    await view('Asked for').click()
    await page.getByRole('table', { name: 'Asked for' }).getByRole('row', { name: /pad/ }).waitFor()
    await it.isFine()
    await fetch(`${it.daemon.url}/pypi/outside/simple/nothing/`)
    upstream.put('/simple/odd/', { type: 'application/vnd.pypi.simple.v1+json', body: '{' })
    await fetch(`${it.daemon.url}/pypi/outside/simple/odd/`)
    await page.goto(`${it.daemon.url}/#/registries?in=outside&view=asked`)
    const outcomes = page.getByRole('table', { name: 'Asked for' })
    await outcomes.getByRole('row', { name: /nothing.*It has no such name/ }).waitFor()
    await outcomes.getByRole('row', { name: /odd.*It gave no answer that is taken\..*it is no/i }).waitFor()
    await it.isFine()
    const names = await saved(/^JSON$/)
    expect(names.name).toMatch(/^gatehouse-asked-names-outside-/)
    expect(JSON.parse(names.text)).toMatchObject([
      { package: 'odd', outcome: 'refused', versions: 0, checked_at: null },
      { package: 'nothing', outcome: 'missing', versions: 0 },
      { package: 'pad', outcome: 'answered', versions: 2, said: null },
    ])
  })

  test('a mark of a name that looks like ours stands below the name, and each view has a toolbar of one height', async () => {
    const made = await it.daemon.call('POST', '/registries/', { token: admin, body: { name: 'nests', format: 'pypi' } })
    expect(made.status, made.text).toBe(201)
    const spec = { name: 'ourslib', version: '1.0' }
    const form = new FormData()
    form.set('content', new Blob([new Uint8Array(buildWheel(spec))]), wheelName(spec))
    const headers = { Authorization: `Basic ${Buffer.from(`__token__:${admin}`).toString('base64')}` }
    const sent = await fetch(`${it.daemon.url}/pypi/nests/legacy/`, { method: 'POST', body: form, headers })
    expect(sent.ok, await sent.text()).toBe(true)
    await (await fetch(`${it.daemon.url}/pypi/outside/simple/0urslib/`)).text()
    await it.asAdmin('#/registries?in=outside')
    const heights = new Set<number>()
    for (const name of ['Hidden', 'Let through', 'Asked for']) {
      await view(name).click()
      await page.locator('.toolbar select, .toolbar .filter').or(view('Let through')).first().waitFor()
      heights.add(await page.locator('.toolbar').evaluate(one => Math.round(one.getBoundingClientRect().height)))
    }
    expect([...heights]).toHaveLength(1)
    const mark = page.getByRole('row', { name: /0urslib/ }).locator('.state')
    for (const width of [1440, 420]) {
      await page.setViewportSize({ width, height: 900 })
      await mark.waitFor()
      const gap = await mark.evaluate(one => {
        const name = document.createRange()
        name.selectNode(one.closest('td')?.firstChild as Node)
        return one.getBoundingClientRect().top - name.getBoundingClientRect().bottom
      })
      expect(gap).toBeGreaterThanOrEqual(0)
    }
  })

  test('a group names its members, and its page says in which order they answer', async () => {
    const made = await it.daemon.call('POST', '/registries/', {
      token: admin,
      body: { name: 'wheels', format: 'pypi' },
    })
    expect(made.status, made.text).toBe(201)
    await it.asAdmin('#/registries')
    await page.getByRole('button', { name: 'New registry' }).click()
    await dialog().getByLabel('Format').selectOption('pypi')
    await dialog().getByLabel('Kind').selectOption('group')
    await dialog().getByLabel('Name').first().fill('every')
    await dialog().getByLabel('Members, in the order').fill('wheels, nobody')
    await dialog().getByRole('button', { name: 'Make it' }).click()
    await dialog().locator('.field .error').waitFor()
    await dialog().getByLabel('Members, in the order').fill('wheels')
    await dialog().getByRole('button', { name: 'Make it' }).click()
    await page.getByRole('complementary', { name: /^Set up a client of/ }).waitFor()
    await page.goto(`${it.daemon.url}/#/registries?in=every`)
    await page.getByText('wheels answer in this order').waitFor()
    await it.isFine()
  })
})
