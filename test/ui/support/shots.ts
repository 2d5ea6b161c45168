// Photographs every screen, dialog and state of the console over the real daemon, in both themes and two widths, and
// says what axe finds: node scripts/with-node.mjs test/ui/support/shots.ts OUT [begins-with]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { generateSync } from 'otplib/functional'
import type { Browser, Page } from 'playwright-core'
import { axeProblems, dropFiles, launch, openPage, tooWide } from './browser.ts'
import { setup as buildConsole } from './built.ts'
import { showMachines } from './machines.ts'
import { importShots, seedImports } from './import-shots.ts'
import { machineShots, startPicturedMachine } from './machine-shots.ts'
import { rowHeights } from './row-heights.ts'
import { ADVISORIES, BOSS, SETUP_TOKEN, deb, startInstance, type Instance } from './instance.ts'

// axe runs where it says so: it is what takes the time
const LOOKS = [
  [1440, 'light', true],
  [1440, 'dark', false],
  [420, 'light', false],
  [420, 'dark', true],
] as const
const [out = '/tmp/shots', only = ''] = process.argv.slice(2)
/** `SHOTS_LANGUAGE=de` for pictures in German, of screens as they open: what is pressed here has English names. */
const language = process.env.SHOTS_LANGUAGE
/** `ROWS=1` says how high the rows of each table are, and takes no picture. */
const measures = process.env.ROWS === '1'
/** `WIDTHS=1280,768,390` in place of those of LOOKS. */
const widths = process.env.WIDTHS?.split(',').map(Number)
mkdirSync(out, { recursive: true })

export interface Shot {
  readonly name: string
  readonly at?: string
  readonly who?: string | null
  readonly before?: (page: Page) => Promise<unknown>
  readonly act?: (page: Page) => Promise<unknown>
}

const wanted = (name: string): boolean => only.split(',').some(begin => name.startsWith(begin))
const ready = (page: Page): Promise<unknown> =>
  page.waitForFunction(
    () =>
      document.querySelector('[aria-busy="true"]') === null &&
      document
        .getAnimations()
        .every(one => one.playState !== 'running' || one.effect?.getComputedTiming().iterations === Infinity) &&
      document.fonts.status === 'loaded',
  )
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first()
const press =
  (name: string | RegExp) =>
  (page: Page): Promise<void> =>
    button(page, name).click()
const inDialog = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('dialog').getByRole('button', { name }).click()
const more =
  (codename: string, item: string) =>
  async (page: Page): Promise<void> => {
    await button(page, `More about ${codename}`).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
async function drop(page: Page, ...files: readonly (readonly [string, Buffer])[]): Promise<void> {
  await dropFiles(
    page,
    'body',
    files.map(([name, bytes]) => ({ name, bytes })),
  )
}
const silent =
  (pattern: string) =>
  (page: Page): Promise<unknown> =>
    page.route(pattern, route => route.abort('connectionrefused'))

async function photograph(page: Page, name: string): Promise<void> {
  if (measures) {
    for (const line of await rowHeights(page)) console.log(`${name}, ${line}`)
    return
  }
  const looks = widths?.flatMap((width, n) => [[width, 'light', n === 0] as const, [width, 'dark', n > 0] as const])
  for (const [width, theme, withAxe] of looks ?? LOOKS) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: theme })
    await page.waitForFunction(
      () =>
        new Promise(resolve => {
          requestAnimationFrame(() => requestAnimationFrame(() => resolve(true)))
        }),
    )
    await page.screenshot({ path: join(out, `${name}-${width}-${theme}.png`) })
    if (withAxe) for (const problem of await axeProblems(page)) console.log(`${name} ${width} ${theme} axe ${problem}`)
    const over = await tooWide(page)
    if (over > 0) console.log(`${name} ${width} is ${over} px too wide`)
  }
}

async function shoot(
  browser: Browser,
  instance: Instance,
  { name, at = '', who = BOSS.name, before, act }: Shot,
): Promise<void> {
  if (!wanted(name)) return
  const { page, context, complaints } = await openPage(browser, 'about:blank')
  page.setDefaultTimeout(15_000)
  try {
    if (who !== null)
      await context.addInitScript(
        token => {
          sessionStorage.setItem('gatehouse.token', token)
        },
        await instance.token(who),
      )
    if (language !== undefined)
      await context.addInitScript(to => {
        localStorage.setItem('gatehouse.language', to)
      }, language)
    await before?.(page)
    if (widths?.[0] !== undefined) await page.setViewportSize({ width: widths[0], height: 900 })
    await page.goto(`${instance.url}/${at}`)
    await page.locator('h1, h2, form').first().waitFor()
    await ready(page)
    await act?.(page)
    await ready(page)
    await photograph(page, name)
  } catch (error) {
    console.log(`${name} failed: ${String(error).split('\n').slice(0, 5).join(' ')}`)
    await page.screenshot({ path: join(out, `${name}-failed.png`) })
  }
  for (const complaint of complaints) console.log(`${name} says ${complaint}`)
  await context.close()
}

/** The wizard from the empty instance to the lines for clients: each picture is a step further. */
async function wizard(browser: Browser, instance: Instance): Promise<void> {
  const { page, context } = await openPage(browser, instance.url)
  const take = (name: string): Promise<void> => (wanted(name) ? photograph(page, name) : Promise.resolve())
  await page.getByLabel('Setup token').fill('K7MQ')
  await page.getByLabel('User name').fill(BOSS.name)
  await page.getByLabel('Password', { exact: true }).fill('harbour')
  await page.getByRole('textbox', { name: 'Password again' }).fill('harb')
  await take('setup-admin')
  await page.getByLabel('Password', { exact: true }).fill(BOSS.password)
  await page.getByRole('textbox', { name: 'Password again' }).fill(BOSS.password)
  await button(page, 'Create and continue').click()
  await page.getByText('This is not the setup token').waitFor()
  await take('setup-wrong-token')
  await page.getByLabel('Setup token').fill(SETUP_TOKEN)
  await button(page, 'Create and continue').click()
  await page.getByRole('button', { name: 'Check and continue' }).waitFor()
  await take('setup-address')
  await button(page, 'Later').click()
  await page.getByRole('checkbox', { name: 'noble' }).waitFor()
  await take('setup-repos')
  await page.goto(`${instance.url}/#/dashboard`)
  for (const screen of [
    'dashboard',
    'packages',
    'review',
    'vulnerabilities',
    'distributions',
    'engines',
    'audit?tab=decisions',
    'users?tab=tokens',
    'users?tab=groups',
  ]) {
    await page.goto(`${instance.url}/#/${screen}`)
    await ready(page)
    if (wanted(`empty-${screen}`)) await take(`empty-${screen.replace(/\?tab=/, '-')}`)
  }
  await page.goto(`${instance.url}/#/setup?step=repositories`)
  await page.locator('.distover').first().waitFor()
  let goOn = (): void => {}
  const held = new Promise<void>(resolve => {
    goOn = resolve
  })
  await page.getByRole('radio', { name: /^Take in one/ }).check()
  await page.getByRole('textbox', { name: 'Private key' }).fill('-----BEGIN PGP PUBLIC KEY BLOCK-----')
  await take('setup-key')
  await page.getByRole('radio', { name: /^Make a new one/ }).check()
  await page.route('**/distributions/init', async route => {
    await held
    await route.continue()
  })
  // five: as many as the limit of a minute
  for (const over of await page.locator('.distover > summary').all()) await over.click()
  for (const codename of ['jammy', 'noble', 'bookworm', 'almalinux9', 'alpine3.20'])
    await page.getByRole('checkbox', { name: codename }).check()
  await button(page, 'Create 5 repositories').click()
  await page.getByText('Making the signing key').waitFor()
  await take('setup-work')
  goOn()
  await page.getByRole('heading', { name: 'What the gate looks with' }).waitFor({ timeout: 600_000 })
  await take('setup-scanners')
  for (const step of ['backup', 'factor']) {
    await page.goto(`${instance.url}/#/setup?step=${step}`)
    await page.getByRole('button', { name: 'Later' }).waitFor()
    await take(`setup-${step}`)
  }
  await page.goto(`${instance.url}/#/setup?step=first`)
  await page.getByRole('heading', { name: 'Gatehouse is ready' }).waitFor()
  await take('setup-done')
  await context.close()
}

const MFA_NAME = 'm.okafor'
let mfaSecret = ''
const code = (offset: number): string =>
  generateSync({ secret: mfaSecret, epoch: Math.floor(Date.now() / 1000) + offset * 30 })
async function password(page: Page, name: string, text: string = BOSS.password): Promise<void> {
  await page.getByLabel('User name').fill(name)
  await page.getByLabel('Password', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}
const HELD = 'review?pick=plant-telemetry&version=3.3.0&in=jammy&arch=amd64'
const limited = (page: Page): Promise<unknown> =>
  page.route('**/upload/stream', route =>
    route.fulfill({
      status: 429,
      headers: { 'retry-after': '24' },
      contentType: 'application/json',
      body: JSON.stringify({
        detail: {
          error: 'rate_limit_exceeded',
          message: 'More than 20 requests a minute.',
          limit: 20,
          retry_after: 24,
        },
        code: 'rate_limited',
      }),
    }),
  )
const community = (page: Page): Promise<unknown> =>
  page.route('**/api/v1/license', route =>
    route.fulfill({
      contentType: 'application/json',
      body: JSON.stringify({
        edition: 'community',
        active: false,
        standing: 'none',
        warning: null,
        issued_to: null,
        expires_at: null,
      }),
    }),
  )

const SHOTS: readonly Shot[] = [
  { name: 'login', who: null },
  {
    name: 'login-wrong',
    who: null,
    act: async page => {
      await password(page, 'r.silva', 'not-it-At-all-1')
      await page.getByRole('alert').waitFor()
    },
  },
  { name: 'login-forgot', who: null, act: press('Forgot your password?') },
  {
    name: 'login-reset',
    who: null,
    at: '#/reset-password?token=abc',
    act: async page => {
      await page.getByLabel('New password', { exact: true }).fill('weak')
    },
  },
  {
    name: 'login-unreachable',
    who: null,
    before: silent('**/api/v1/**'),
    act: page => page.getByText('The server does not answer').waitFor(),
  },
  // the steps of the wizard, also in German
  ...['address', 'repositories', 'scanners', 'backup', 'factor', 'first'].map((step): Shot => ({
    name: `step-${step}`,
    at: `#/setup?step=${step}`,
  })),
  {
    name: 'step-clocks',
    at: '#/setup?step=address',
    before: page => page.clock.setFixedTime(Date.now() + 4 * 60_000),
    act: page => page.getByText('The two clocks differ').waitFor(),
  },
  { name: 'dashboard', at: '#/dashboard' },
  { name: 'dashboard-reader', at: '#/dashboard', who: 'r.silva' },
  { name: 'packages', at: '#/packages' },
  { name: 'packages-detail', at: '#/packages?pick=curl' },
  { name: 'packages-more', at: '#/packages?pick=curl', act: press('More') },
  { name: 'packages-reader', at: '#/packages?pick=curl', who: 'r.silva', act: press('More') },
  { name: 'packages-held', at: '#/packages?pick=libtiff5' },
  { name: 'packages-findings', at: '#/packages?pick=libtiff5&tab=findings' },
  { name: 'packages-quarantined', at: '#/packages?state=quarantined&pick=redis-server' },
  { name: 'packages-versions', at: '#/packages?pick=plant-agent&tab=versions' },
  { name: 'packages-dependencies', at: '#/packages?pick=curl&tab=dependencies' },
  { name: 'packages-inside', at: '#/packages?pick=curl&tab=inside' },
  { name: 'packages-history', at: '#/packages?pick=curl&tab=history' },
  {
    name: 'packages-compare',
    at: '#/packages?pick=plant-agent&version=3.2.1&in=jammy&arch=amd64',
    act: async page => {
      await press('Compare')(page)
      await page.getByRole('dialog').locator('table').first().waitFor()
    },
  },
  { name: 'packages-delete', at: '#/packages?pick=curl', act: press('Delete') },
  {
    name: 'packages-quarantine',
    at: '#/packages?pick=curl',
    act: async page => {
      await press('More')(page)
      await page.getByRole('menuitem', { name: 'Quarantine' }).click()
    },
  },
  { name: 'packages-none', at: '#/packages?q=nothing&dist=noble' },
  { name: 'packages-silent', at: '#/packages', before: silent('**/api/v1/packages/**') },
  { name: 'upload', at: '#/upload' },
  { name: 'upload-reader', at: '#/upload', who: 'r.silva' },
  {
    name: 'upload-mixed',
    at: '#/upload',
    act: async page => {
      await drop(
        page,
        ['plant-telemetry_3.4.0_amd64.deb', await deb('plant-telemetry 3.4.0')],
        ['libplant2_1.8.0-1_amd64.deb', await deb('libplant2 1.8.0-1', { 'usr/share/other': 'x' })],
        ['broken_1_amd64.deb', Buffer.from('this is no package')],
        ['notes.txt', Buffer.from('x')],
      )
      await page.getByLabel('Distribution for .deb').selectOption('jammy')
      await page.getByText('1 published').waitFor()
      await page.getByText('2 stopped').waitFor()
    },
  },
  {
    name: 'upload-live',
    at: '#/upload',
    before: page =>
      page.route('**/upload/stream', async route =>
        route.fulfill({
          contentType: 'text/event-stream',
          body: [
            ['format', 'passed'],
            ['provenance', 'passed'],
            ['antivirus', 'running'],
          ]
            .map(([step, status]) => `data: ${JSON.stringify({ step, status, message: 'Looking.' })}\n\n`)
            .join(''),
        }),
      ),
    act: async page => {
      await drop(page, ['line-clock_1_amd64.deb', await deb('line-clock 1')])
      await page.getByLabel('Distribution for .deb').selectOption('jammy')
      await page
        .getByText(/Cut off|Antivirus/)
        .first()
        .waitFor()
    },
  },
  {
    name: 'upload-paused',
    at: '#/upload',
    before: limited,
    act: async page => {
      await drop(page, ['a_1_amd64.deb', await deb('a 1')], ['b_1_amd64.deb', await deb('b 1')])
      await page.getByLabel('Distribution for .deb').selectOption('jammy')
      await page.getByText('Paused by the limit').waitFor()
    },
  },
  { name: 'review', at: '#/review' },
  { name: 'review-one', at: `#/${HELD}` },
  { name: 'review-many-findings', at: '#/review?pick=libtiff5&version=4.3.0-6&in=jammy&arch=amd64' },
  {
    name: 'review-decide',
    at: `#/${HELD}`,
    act: async page => {
      await page.getByRole('radio', { name: /^Accept the risk/ }).check()
      await button(page, 'Not reachable').click()
    },
  },
  { name: 'review-wrong', at: `#/${HELD}`, act: press(/^Decide/) },
  {
    name: 'review-bulk',
    at: '#/review',
    act: async page => {
      await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    },
  },
  {
    name: 'review-bulk-preview',
    at: '#/review',
    act: async page => {
      await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
      await page.getByRole('radio', { name: /^Approve/ }).check()
      await page.getByLabel('Justification').fill('Looked at with the team.')
      await page.getByRole('button', { name: /^Approve, / }).click()
      await page.getByRole('dialog').getByText('Would be decided').waitFor()
    },
  },
  {
    name: 'review-undo',
    at: `#/${HELD}`,
    act: async page => {
      await page.clock.install()
      await page.getByRole('radio', { name: /^Reject/ }).check()
      await page.getByLabel('Justification').fill('It is not wanted on any line.')
      await button(page, /^Reject/).click()
      await page.getByText('left to undo').waitFor()
    },
  },
  { name: 'review-reader', at: `#/${HELD}`, who: 'r.silva' },
  { name: 'review-none', at: '#/review?q=nothing' },
  { name: 'vulnerabilities', at: '#/vulnerabilities' },
  { name: 'vulnerabilities-package', at: '#/vulnerabilities?by=package' },
  { name: 'vulnerabilities-one', at: '#/vulnerabilities?cve=CVE-2024-6387' },
  { name: 'vulnerabilities-export', at: '#/vulnerabilities', act: press('Export') },
  { name: 'policy', at: '#/policy' },
  {
    name: 'policy-preview',
    at: '#/policy',
    act: async page => {
      await page.getByRole('radio', { name: 'medium: Review' }).check({ force: true })
      await page
        .getByText(/would wait for review/)
        .first()
        .waitFor()
    },
  },
  { name: 'policy-reader', at: '#/policy', who: 'r.silva' },
  { name: 'engines', at: '#/engines' },
  { name: 'logs', at: '#/logs' },
  { name: 'logs-line', at: '#/logs', act: page => page.locator('.logt .lmsg').first().click() },
  { name: 'downloads', at: '#/downloads' },
  { name: 'downloads-table', at: '#/downloads?as=table' },
  { name: 'downloads-never', at: '#/downloads?view=never' },
  {
    name: 'engines-import',
    at: '#/engines',
    act: async page => {
      await drop(page, ['holiday.zip', Buffer.from('no archive')], ['all.zip', ADVISORIES])
      await page.getByText(/400 records|Nothing new/).waitFor()
    },
  },
  { name: 'distributions', at: '#/distributions' },
  { name: 'distributions-reader', at: '#/distributions', who: 'r.silva', act: press('More about jammy') },
  { name: 'distributions-menu', at: '#/distributions', act: press('More about jammy') },
  { name: 'distributions-client', at: '#/distributions', act: press('Client setup') },
  { name: 'distributions-history', at: '#/distributions', act: more('jammy', 'Publications') },
  {
    name: 'distributions-rollback',
    at: '#/distributions',
    act: async page => {
      await more('jammy', 'Publications')(page)
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Roll back to/ })
        .first()
        .click()
    },
  },
  {
    name: 'distributions-keep',
    at: '#/distributions',
    act: async page => {
      await more('jammy', 'Versions kept')(page)
      await page.getByLabel('Newest versions of each package').fill('1')
      await inDialog(page, 'What would go?')
      await page
        .getByText(/would go/)
        .last()
        .waitFor()
    },
  },
  {
    name: 'distributions-pin',
    at: '#/distributions',
    act: async page => {
      await more('jammy', 'Versions kept')(page)
      await inDialog(page, 'Pin a version')
    },
  },
  {
    name: 'distributions-copy',
    at: '#/distributions',
    act: async page => {
      await more('jammy', 'Copy packages')(page)
      await page.getByLabel('Into').selectOption('bookworm')
      await page.getByRole('region', { name: 'Differences' }).waitFor()
    },
  },
  {
    name: 'distributions-copy-community',
    at: '#/distributions',
    before: community,
    act: more('jammy', 'Copy packages'),
  },
  { name: 'distributions-access', at: '#/distributions', act: more('noble', 'Who sees it') },
  { name: 'distributions-documents', at: '#/distributions', act: more('jammy', 'Documents') },
  { name: 'distributions-documents-reader', at: '#/distributions', who: 'r.silva', act: more('jammy', 'Documents') },
  {
    name: 'distributions-document-new',
    at: '#/distributions',
    act: async page => {
      await more('jammy', 'Documents')(page)
      await inDialog(page, 'Add a document')
    },
  },
  {
    name: 'distributions-document-refused',
    at: '#/distributions',
    act: async page => {
      await more('jammy', 'Documents')(page)
      await inDialog(page, 'Replace translation, main, de')
      await page
        .getByLabel('The document')
        .setInputFiles({ name: 'Translation-de', mimeType: 'text/plain', buffer: Buffer.from('Package: hello\n') })
      await inDialog(page, 'Replace')
      await page.getByText(/is refused: .*Description-md5/).waitFor()
    },
  },
  {
    name: 'distributions-document-delete',
    at: '#/distributions',
    act: async page => {
      await more('jammy', 'Documents')(page)
      await inDialog(page, 'Delete translation, main, de')
    },
  },
  {
    name: 'distributions-document-copy',
    at: '#/distributions',
    act: async page => {
      await more('bookworm', 'Documents')(page)
      await inDialog(page, 'Copy from another distribution')
      await page.getByLabel('From').selectOption('jammy')
      await page.getByText('main, de').waitFor()
    },
  },
  { name: 'distributions-release', at: '#/distributions', act: more('jammy', 'Release file') },
  { name: 'distributions-add', at: '#/distributions', act: press('Add a distribution') },
  { name: 'distributions-change', at: '#/distributions', act: more('jammy', 'Change') },
  { name: 'distributions-retire', at: '#/distributions', act: more('jammy', 'Retire') },
  { name: 'distributions-key', at: '#/distributions', act: press(/Replace/) },
  { name: 'backups-none', at: '#/backups' },
  {
    name: 'backups',
    at: '#/backups',
    act: async page => {
      await press('Back up now')(page)
      await button(page, 'Prove').click()
      await page.getByText('Restored in a drill').waitFor()
    },
  },
  { name: 'backups-restore', at: '#/backups', act: press('Restore') },
  { name: 'jobs', at: '#/jobs' },
  {
    name: 'jobs-log',
    at: '#/jobs',
    act: async page => {
      await button(page, /^Log of /).click()
      await page.getByRole('complementary').or(page.getByRole('dialog')).last().locator('ol li, pre').first().waitFor()
    },
  },
  { name: 'audit', at: '#/audit' },
  { name: 'audit-decisions', at: '#/audit?tab=decisions' },
  { name: 'audit-reader', at: '#/audit', who: 'r.silva' },
  { name: 'audit-none', at: '#/audit?q=nothing' },
  {
    name: 'audit-chain',
    at: '#/audit',
    act: async page => {
      await press('Verify the chain')(page)
      await page.getByText('Nothing was changed, taken out or put in.').waitFor()
    },
  },
  { name: 'users', at: '#/users' },
  { name: 'users-reader', at: '#/users', who: 'r.silva' },
  { name: 'users-new', at: '#/users', act: press('Create user') },
  { name: 'users-reset', at: '#/users', act: press('Reset password') },
  { name: 'users-delete', at: '#/users', act: press('Delete r.silva') },
  { name: 'users-person', at: '#/users?person=r.silva' },
  { name: 'users-person-nobody', at: '#/users?person=nobody' },
  { name: 'users-groups', at: '#/users?tab=groups' },
  { name: 'users-group', at: '#/users?tab=groups', act: press('Change') },
  { name: 'users-keys', at: '#/users?tab=keys' },
  { name: 'users-key-new', at: '#/users?tab=keys', act: press('Add a key') },
  { name: 'users-key-delete', at: '#/users?tab=keys', act: press('Remove the key ada') },
  { name: 'users-image-keys', at: '#/users?tab=image-keys' },
  { name: 'users-image-key-new', at: '#/users?tab=image-keys', act: press('Add a key') },
  { name: 'users-image-key-delete', at: '#/users?tab=image-keys', act: press('Remove the key release team') },
  { name: 'users-tokens', at: '#/users?tab=tokens' },
  {
    name: 'users-token-new',
    at: '#/users?tab=tokens',
    act: async page => {
      await press('Create token')(page)
      await page.getByLabel('Only some distributions').check()
    },
  },
  {
    name: 'users-token-made',
    at: '#/users?tab=tokens',
    act: async page => {
      await press('Create token')(page)
      await page.getByLabel('Name').fill('line-4')
      await inDialog(page, 'Create token')
      await page.getByText('only time').waitFor()
    },
  },
  { name: 'users-token-revoke', at: '#/users?tab=tokens', act: press('Revoke') },
  { name: 'users-roles', at: '#/users?tab=roles' },
  { name: 'profile', at: '#/profile' },
  {
    name: 'profile-factor',
    at: '#/profile',
    act: async page => {
      await press('Set up the second factor')(page)
      await page.getByRole('img', { name: /QR code/ }).waitFor()
    },
  },
  {
    name: 'profile-codes',
    at: '#/profile',
    who: MFA_NAME,
    act: async page => {
      await press('Set up the second factor')(page)
      mfaSecret = ((await page.getByRole('region', { name: 'the key' }).textContent()) ?? '').replace(/\s/g, '')
      await page.getByLabel('Code from the app').pressSequentially(code(0))
      await page.getByRole('heading', { name: 'Keep these 8 recovery codes' }).waitFor()
    },
  },
  {
    name: 'login-code',
    who: null,
    act: async page => {
      await password(page, MFA_NAME)
      await page.getByLabel('Six-digit code').waitFor()
    },
  },
  {
    name: 'login-recovery',
    who: null,
    act: async page => {
      await password(page, MFA_NAME)
      await press('Use a recovery code')(page)
    },
  },
  { name: 'settings', at: '#/settings' },
  ...['license', 'mfa_policy', 'ldap', 'oidc', 'email', 'notifications', 'security', 'validation', 'cve_policy'].map(
    (section): Shot => ({ name: `settings-${section}`, at: `#/settings?section=${section}` }),
  ),
  {
    name: 'settings-changed',
    at: '#/settings?section=email',
    act: async page => {
      await page
        .getByLabel('To', { exact: true })
        .first()
        .fill('ops@nordwerk.example')
        .catch(() => undefined)
      await page.getByLabel('From address').fill('no address')
    },
  },
  {
    name: 'settings-search',
    at: '#/settings',
    act: page => page.getByRole('searchbox', { name: 'Search the settings' }).fill('days'),
  },
  {
    name: 'settings-ldap-test',
    at: '#/settings?section=ldap',
    act: async page => {
      await page.getByLabel('Host', { exact: true }).fill('127.0.0.1')
      await page.getByLabel('Port', { exact: true }).fill('1')
      await page.getByRole('button', { name: 'Test', exact: true }).click()
      await page.getByText(/cannot be used/).waitFor()
    },
  },
  { name: 'settings-ldap-community', at: '#/settings?section=ldap', before: community },
  { name: 'settings-reader', at: '#/settings', who: 'r.silva' },
  { name: 'inventory-none', at: '#/inventory' },
  { name: 'inventory', at: '#/inventory', before: showMachines },
  { name: 'inventory-machine', at: '#/inventory?pick=1', before: showMachines },
  ...['findings', 'compliance', 'packages', 'history'].map((tab): Shot => ({
    name: `inventory-${tab}`,
    at: `#/inventory?pick=1&tab=${tab}`,
    before: showMachines,
  })),
  { name: 'inventory-late', at: '#/inventory?pick=6', before: showMachines },
  { name: 'inventory-unknown', at: '#/inventory?pick=8', before: showMachines },
  { name: 'inventory-hostkey', at: '#/inventory?pick=7', before: showMachines },
  { name: 'inventory-add', at: '#/inventory', before: showMachines, act: press('Add a machine') },
  {
    name: 'inventory-token',
    at: '#/inventory',
    act: async page => {
      await press('Add a machine')(page)
      await page.getByRole('radio', { name: /reports itself/ }).check()
      await page.getByLabel('Name').fill('line-4')
      await inDialog(page, 'Add it')
      await page.getByText('only time').waitFor()
    },
  },
  { name: 'inventory-rules', at: '#/inventory', before: showMachines, act: press('Rules') },
  { name: 'inventory-community', at: '#/inventory', before: community },
  ...importShots,
  ...machineShots,
  { name: 'health', at: '#/health' },
  { name: 'health-silent', at: '#/health', before: silent('**/api/v1/health**') },
  { name: 'policy-silent', at: '#/policy', before: silent('**/api/v1/settings/**') },
  ...['vulnerabilities', 'health', 'audit', 'inventory'].map((screen): Shot => ({
    name: `print-${screen}`,
    at: `#/${screen}`,
    ...(screen === 'inventory' ? { before: showMachines } : {}),
    act: page => page.emulateMedia({ media: 'print' }),
  })),
  { name: 'menu', at: '#/health', act: page => page.locator('.who').click() },
  {
    name: 'palette',
    at: '#/dashboard',
    act: async page => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('plant')
      await page.getByRole('option').nth(3).waitFor()
    },
  },
  {
    name: 'palette-none',
    at: '#/dashboard',
    act: async page => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('xyzzy')
    },
  },
  { name: 'messages', at: '#/packages', act: press(/message|Message/) },
  {
    name: 'tray',
    at: '#/packages',
    before: page =>
      page.route('**/api/v1/jobs?*', async route => {
        const reply = await route.fetch()
        const { items, ...rest } = (await reply.json()) as { items: Record<string, unknown>[] }
        const running = items.slice(0, 1).map(job => ({ ...job, status: 'running', finished_at: null, percent: 41 }))
        await route.fulfill({ json: { ...rest, items: [...running, ...items.slice(1)], total: 1 } })
      }),
    act: press(/job(s)? open/),
  },
  {
    name: 'phone-menu',
    at: '#/health',
    before: page => page.setViewportSize({ width: 420, height: 900 }),
    act: press('Menu'),
  },
  { name: 'keys', at: '#/review', act: page => page.keyboard.press('?') },
  {
    name: 'again',
    at: `#/${HELD}`,
    act: async page => {
      await page.evaluate(() =>
        fetch('/api/v1/auth/logout', {
          method: 'POST',
          headers: { authorization: `Bearer ${sessionStorage.getItem('gatehouse.token')}` },
        }),
      )
      await page.getByRole('radio', { name: /^Approve/ }).check()
      await page.getByLabel('Justification').fill('Half a thought')
      await button(page, /^Approve/).click()
      await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    },
  },
  {
    name: 'gone',
    at: '#/dashboard',
    before: silent('**/dashboard/events'),
    act: page => page.getByText(/No connection since/).waitFor(),
  },
]

buildConsole()
const machine = await startPicturedMachine()
const instance = await startInstance(machine.env)
const browser = await launch()
let vendors: Awaited<ReturnType<typeof seedImports>> | undefined
try {
  await wizard(browser, instance)
  await instance.seed()
  if (importShots.some(({ name }) => wanted(name))) vendors = await seedImports(instance)
  for (const shot of SHOTS) await shoot(browser, instance, shot)
} finally {
  await browser.close()
  await instance.stop()
  await vendors?.close()
  await machine.close()
}
