import type { Page } from 'playwright-core'
import { BOSS, type Instance } from './instance.ts'
import { bundleShots, mirrorShots, securityShots, type ImportStage } from './import-tab-shots.ts'
import type { Shot } from './shots.ts'
import { plantSource, startVendors, type Vendors } from './vendors.ts'

let vendors: Vendors
let answer = (): void => undefined
let call: (method: string, path: string, body?: object) => Promise<Record<string, unknown>>

/** Vendors on this machine, of whom nothing was read yet. */
export async function seedImports(instance: Instance): Promise<Vendors> {
  const boss = await instance.token(BOSS.name)
  call = (method, path, body) => instance.call(method, path, body, boss)
  vendors = await startVendors(call)
  return vendors
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first()
async function sync(target: string): Promise<void> {
  const { job_id: id } = await call('POST', `/import/sync/${target}`)
  for (;;) {
    const { status } = await call('GET', `/import/sync/jobs/${String(id)}`)
    if (status !== 'running') return
  }
}
const add =
  (...names: readonly string[]) =>
  async (page: Page): Promise<void> => {
    for (const name of names) {
      await page.getByLabel('Search all sources').fill(name)
      await button(page, new RegExp(`^Add ${name} `)).click()
    }
    await page.getByRole('treeitem').first().waitFor()
    if (names.length > 0) await page.getByLabel('Search all sources').fill('postgresql')
    await button(page, /^Add postgresql /)
      .or(button(page, /Take postgresql out/))
      .first()
      .waitFor()
  }
const stage: ImportStage = { vendors: () => vendors, call: (...asked) => call(...asked), sync }
const AT = '#/import?for=bookworm&q=postgresql'

export const importShots: readonly Shot[] = [
  { name: 'import-first', at: '#/import?for=bookworm' },
  {
    name: 'import-search',
    at: AT,
    before: async () => {
      for (const key of ['bookworm', 'bookworm-security']) await sync(key)
    },
  },
  { name: 'import-basket', at: AT, act: add('postgresql-15', 'curl') },
  { name: 'import-missing', at: AT, act: add('postgresql-plpython3-15') },
  {
    name: 'import-basket-narrow',
    at: AT,
    act: async page => {
      await add('postgresql-15')(page)
      await page.setViewportSize({ width: 420, height: 900 })
      await button(page, /^Basket/).click()
    },
  },
  {
    name: 'import-huge',
    at: '#/import?for=bookworm&q=plant-desktop',
    before: async () => {
      await call('POST', '/import/sources', plantSource(vendors))
      await sync('plant-desktop')
    },
    act: async page => {
      await button(page, /^Add plant-desktop /).click()
      await page.getByRole('treeitem').nth(5).waitFor()
      await page.getByRole('treeitem', { name: /^area3/ }).click()
    },
  },
  {
    name: 'import-running',
    at: AT,
    act: async page => {
      const until = new Promise<void>(resolve => {
        answer = resolve
      })
      vendors.upstream.rules({ match: /\.deb$/, until })
      await add('curl')(page)
      await button(page, /^Import \d/).click()
      await page.getByRole('progressbar').first().waitFor()
    },
  },
  {
    name: 'import-tray',
    at: '#/packages',
    act: page => button(page, '1 job open').click(),
  },
  {
    name: 'import-done',
    at: AT,
    before: async () => {
      answer()
      vendors.upstream.rules()
      await Promise.resolve()
    },
    act: async page => {
      await add('postgresql-15')(page)
      await button(page, /^Import \d/).click()
      await button(page, 'The group')
        .or(page.getByRole('link', { name: 'The group' }))
        .first()
        .waitFor()
    },
  },
  {
    name: 'import-dockerfile',
    at: AT,
    act: async page => {
      await button(page, 'From a Dockerfile').click()
      await page
        .getByRole('textbox', { name: 'Dockerfile' })
        .fill('FROM debian:12\nRUN apt-get update && apt-get install -y curl postgresql-15 no-such-thing')
      await page.getByRole('dialog').getByRole('button', { name: 'Look' }).click()
      await page.getByText('It installs 3 packages').waitFor()
    },
  },
  { name: 'import-versions', at: '#/import?for=bookworm&q=libpq&versions=all' },
  { name: 'import-none', at: '#/import?for=bookworm&q=no-such-thing' },
  { name: 'import-reader', at: AT, who: 'r.silva' },
  { name: 'import-sources', at: '#/import?tab=sources' },
  {
    name: 'import-failing',
    at: '#/import?tab=sources&pick=bookworm-security',
    before: async () => {
      await vendors.renew(new Date(Date.now() - 40 * 86_400_000))
      await sync('bookworm-security')
    },
  },
  {
    name: 'import-accept',
    at: '#/import?tab=sources&pick=bookworm-security',
    act: page => button(page, /^Accept the older/).click(),
  },
  { name: 'import-sources-reader', at: '#/import?tab=sources', who: 'r.silva' },
  { name: 'import-source', at: '#/import?tab=sources&pick=bookworm' },
  {
    name: 'import-add',
    at: '#/import?tab=sources',
    act: async page => {
      await button(page, 'Add source').click()
      await page.getByLabel('Name', { exact: true }).fill('Vendor tools')
      await page.getByLabel('Address', { exact: true }).fill(vendors.upstream.url)
      await page.getByLabel('For', { exact: true }).selectOption('bookworm')
      await page.getByLabel('Architectures').fill('amd64')
      await page.getByLabel('Find a key').fill('of the tests')
      await page.getByRole('checkbox', { name: /of the tests/ }).check()
      await button(page, 'Test').click()
      await page.getByText('It answers, and is what it says.').waitFor()
    },
  },
  { name: 'import-keys', at: '#/import?tab=keys' },
  { name: 'import-adopt', at: '#/import?tab=adopt' },
  { name: 'import-adopt-form', at: '#/import?tab=adopt', act: page => button(page, 'Another folder').click() },
  { name: 'import-groups', at: '#/import?tab=groups' },
  { name: 'import-group', at: '#/import?tab=groups&pick=postgresql-15-bookworm' },
  {
    name: 'import-remove',
    at: '#/import?tab=groups&pick=postgresql-15-bookworm',
    act: page => button(page, 'Remove').click(),
  },
  ...mirrorShots(stage),
  ...securityShots(stage),
  ...bundleShots(stage),
]
