// Photographs every screen of the console against the stub: node scripts/with-node.mjs test/ui/support/shots.ts OUT [only]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { axeProblems, dropFiles, launch, openPage, tooWide } from './browser.ts'
import { startStub, type Scene } from './stub.ts'

const [out = '/tmp/shots', only = ''] = process.argv.slice(2)
mkdirSync(out, { recursive: true })
const stub = await startStub(join(import.meta.dirname, '../../../ui/dist'))
const browser = await launch()

const idle = (page: Page): Promise<void> => page.waitForTimeout(450) // for eyes only: lets live reads and fonts settle
const drop = (page: Page, ...names: string[]): Promise<void> => dropFiles(page, 'body', names.map(name => ({ name, bytes: Buffer.alloc(9000, 'x') })))

interface Shot { readonly name: string; readonly scene?: Partial<Scene>; readonly at?: string; readonly anonymous?: true; readonly act?: (page: Page) => Promise<unknown> }
const SHOTS: readonly Shot[] = [
  { name: 'setup-admin', scene: { needsSetup: true, tokenRequired: true }, anonymous: true, act: async page => { await page.getByLabel('User name').fill('p.raman'); await page.getByLabel('Password', { exact: true }).fill('harbour'); await page.getByRole('textbox', { name: 'Password again' }).fill('harb') } },
  { name: 'setup-repos', scene: { empty: true }, at: '#/setup' },
  { name: 'setup-work', scene: { empty: true }, at: '#/setup', act: async page => { await page.getByRole('button', { name: /Create 4/ }).click(); await page.waitForTimeout(1200) } },
  { name: 'setup-done', scene: { empty: true }, at: '#/setup', act: async page => { await page.getByRole('button', { name: /Create 4/ }).click(); await page.getByText('Gatehouse is ready').waitFor() } },
  { name: 'login', anonymous: true },
  { name: 'login-wrong', anonymous: true, act: async page => { await page.getByLabel('User name').fill('p.raman'); await page.getByLabel('Password', { exact: true }).fill('wrong'); await page.keyboard.press('Enter'); await page.getByRole('alert').waitFor() } },
  { name: 'dashboard', at: '#/dashboard' },
  { name: 'dashboard-quiet', at: '#/dashboard', scene: { quiet: true } },
  { name: 'dashboard-empty', at: '#/dashboard', scene: { empty: true } },
  { name: 'dashboard-offline', at: '#/dashboard', scene: { offline: true } },
  { name: 'packages', at: '#/packages' },
  { name: 'packages-detail', at: '#/packages?pick=curl&version=7.88.1-10%2Bdeb12u8&in=bookworm&arch=amd64' },
  { name: 'packages-quarantined', at: '#/packages?state=quarantined&pick=redis-server' },
  { name: 'packages-findings', at: '#/packages?pick=git&tab=findings' },
  { name: 'packages-versions', at: '#/packages?pick=git&tab=versions' },
  { name: 'packages-deps', at: '#/packages?pick=git&tab=dependencies' },
  { name: 'packages-delete', at: '#/packages?pick=curl', act: page => page.getByRole('button', { name: 'Delete' }).click() },
  { name: 'packages-none', at: '#/packages?q=nothing&dist=noble' },
  { name: 'packages-empty', at: '#/packages', scene: { empty: true } },
  { name: 'upload-empty', at: '#/upload' },
  { name: 'upload-gate', at: '#/upload', act: async page => { await drop(page, 'plant-telemetry_3.2.1_amd64.deb', 'badge-kiosk_2.0.5-1_amd64.deb', 'hello_2.10_amd64.deb'); await page.getByLabel('Distribution for .deb').selectOption('jammy'); await page.waitForTimeout(150) } },
  { name: 'upload-done', at: '#/upload', act: async page => { await drop(page, 'plant-telemetry_3.2.1_amd64.deb'); await page.getByLabel('Distribution for .deb').selectOption('jammy'); await page.getByText('1 published').waitFor() } },
  { name: 'upload-held', at: '#/upload', scene: { upload: 'pending_review' }, act: async page => { await drop(page, 'openssh-server_8.9p1_amd64.deb'); await page.getByLabel('Distribution for .deb').selectOption('jammy'); await page.getByText('1 held').waitFor() } },
  { name: 'upload-conflict', at: '#/upload', scene: { upload: 'conflict' }, act: async page => { await drop(page, 'libplant2_1.8.0-1_amd64.deb', 'other_1_amd64.deb'); await page.getByLabel('Distribution for .deb').selectOption('jammy'); await page.getByText('2 stopped').waitFor() } },
  { name: 'upload-paused', at: '#/upload', scene: { limited: true }, act: async page => { await drop(page, 'a_1_amd64.deb', 'b_1_amd64.deb'); await page.getByLabel('Distribution for .deb').selectOption('jammy'); await page.getByText('Paused by the limit').waitFor() } },
  { name: 'upload-reader', at: '#/upload', scene: { role: 'reader' } },
  { name: 'distributions', at: '#/distributions' },
  { name: 'distributions-client', at: '#/distributions', act: page => page.getByRole('button', { name: 'Client setup' }).first().click() },
  { name: 'distributions-key', at: '#/distributions', act: page => page.getByRole('button', { name: 'Replace' }).click() },
  { name: 'users', at: '#/users' },
  { name: 'users-new', at: '#/users', act: page => page.getByRole('button', { name: 'Create user' }).click() },
  { name: 'users-reader', at: '#/users', scene: { role: 'reader' }, act: page => page.getByRole('button', { name: 'Create user' }).hover() },
  { name: 'tokens', at: '#/users?tab=tokens' },
  { name: 'tokens-new', at: '#/users?tab=tokens', act: async page => { await page.getByRole('button', { name: 'Create token' }).click(); await page.getByLabel('Name').fill('ci'); await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click(); await page.getByText('only time').waitFor() } },
  { name: 'roles', at: '#/users?tab=roles' },
  { name: 'health', at: '#/health' },
  { name: 'profile', at: '#/profile' },
  { name: 'menu', at: '#/health', act: page => page.locator('.who').click() },
  { name: 'keys', at: '#/health', act: page => page.keyboard.press('?') },
]

const sizes = [[1440, 'light'], [1440, 'dark'], [960, 'light']] as const
for (const { name, scene = {}, at = '', anonymous, act } of SHOTS) {
  if (only !== '' && !name.startsWith(only)) continue
  for (const [width, theme] of sizes) {
    Object.assign(stub.scene, { needsSetup: false, tokenRequired: false, role: 'admin', empty: false, quiet: false, offline: false, limited: false, upload: 'published' }, scene)
    const { page, context, complaints } = await openPage(browser, `${stub.url}/${at}`, { theme, width, height: width === 960 ? 700 : 900 })
    const label = `${name}-${width}-${theme}`
    try {
      if (!anonymous) {
        const wizard = at.startsWith('#/setup')
        await page.getByLabel('User name').fill('p.raman')
        await page.getByLabel('Password', { exact: true }).fill('harbour-Lantern-88')
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.locator(wizard ? '.wstep h1' : '.bar h1').waitFor({ timeout: 8000 })
      }
      await idle(page)
      await act?.(page)
      await idle(page)
      for (const problem of await axeProblems(page)) console.log(`${label} axe ${problem}`)
      if (await tooWide(page) > 0) console.log(`${label} is ${await tooWide(page)} px too wide`)
    } catch (error) {
      console.log(`${label} failed: ${String(error).split('\n').slice(0, 4).join(' ')}`)
    }
    for (const complaint of complaints) console.log(`${label} says ${complaint}`)
    await page.screenshot({ path: join(out, `${label}.png`) })
    await context.close()
  }
}
await browser.close()
await stub.stop()
