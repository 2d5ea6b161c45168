import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, launch, noBrowser, openPage } from './support/browser.ts'
import { PASSWORD, expectFine, signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('steering the repository in the console', () => {
  let daemon: Daemon
  let admin: string
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )

  beforeAll(async () => {
    daemon = await startDaemon()
    admin = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: admin, body: {} })
    for (const version of ['1.0', '1.1', '1.2'])
      await daemon.upload(await buildDeb({ name: 'hello', version }), { token: admin })
    for (const [username, role] of [
      ['rita', 'reader'],
      ['ulf', 'uploader'],
    ] as const)
      await daemon.call('POST', '/auth/users', { token: admin, body: { username, password: PASSWORD, role } })
  })
  afterAll(async () => {
    await daemon?.close()
  })

  const signIn = (at: string, name?: string): Promise<void> => signInAt(page, `${daemon.url}/${at}`, name)
  const isFine = (): Promise<void> => expectFine(page)
  async function more(codename: string, item: string): Promise<void> {
    await page.getByRole('button', { name: `More about ${codename}` }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  const dialog = () => page.getByRole('dialog')

  test('the audit log is read, narrowed and proved; a search without a hit can be taken back', async () => {
    await signIn('#/audit')
    const rows = page.getByRole('region', { name: 'Audit log' }).getByRole('row')
    await rows.filter({ hasText: 'UPLOAD' }).first().waitFor()
    await isFine()
    await page.getByLabel('Action').selectOption('INIT_DISTS')
    await rows.filter({ hasText: 'UPLOAD' }).first().waitFor({ state: 'detached' })
    await rows.filter({ hasText: 'INIT_DISTS' }).first().waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('searchbox', { name: 'Search the audit log' }).fill('nothing of this name')
    await page.getByText('No entry matches').waitFor()
    await page.getByRole('button', { name: 'Clear the filter' }).click()
    await rows.filter({ hasText: 'LOGIN' }).first().waitFor()
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    await dialog().getByText('Nothing was changed, taken out or put in.').waitFor()
    await isFine()
    await dialog().getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: 'Decisions' }).click()
    await page.getByText('Nothing was decided yet').waitFor()
  })

  test('the audit log is for auditors; what was decided is for everybody', async () => {
    await signIn('#/audit', 'rita')
    await page.getByText('The audit log belongs to auditors').waitFor()
    await page.getByRole('button', { name: 'Verify the chain' }).hover()
    expect(await page.locator('.tip').textContent()).toBe('Needs auditor. You are reader.')
    await page.getByRole('link', { name: 'Decisions' }).click()
    await page.getByText('Nothing was decided yet').waitFor()
  })

  test('a version is pinned, what a clean-up would remove is shown first, and then it is removed', async () => {
    await signIn('#/distributions')
    await more('jammy', 'Versions kept')
    await dialog().getByText('A pinned version stays, whatever the rule says.').waitFor()
    await dialog().getByRole('button', { name: 'Pin a version' }).click()
    await dialog().getByLabel('Package', { exact: true }).fill('hello')
    await dialog().getByLabel('Version', { exact: true }).fill('9.9')
    await dialog().getByRole('button', { name: 'Pin it' }).click()
    await dialog().getByRole('alert').getByText('9.9').waitFor() // there is none, and what was typed stays
    await dialog().getByLabel('Version', { exact: true }).fill('1.0')
    await dialog().getByRole('button', { name: 'Pin it' }).click()
    await dialog().getByRole('button', { name: 'Unpin hello 1.0' }).waitFor()
    await dialog().getByLabel('Newest versions of each package').fill('1')
    await dialog().getByRole('button', { name: 'What would go?' }).click()
    await dialog().getByText('1 package would go, 1 pinned one would stay.').waitFor()
    await dialog().getByText('hello 1.1 amd64').waitFor()
    await isFine()
    await dialog().getByRole('button', { name: 'Save', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    const versions = async (): Promise<string[]> =>
      [
        ...(await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text.matchAll(
          /^Version: (.*)$/gm,
        ),
      ]
        .map(([, version]) => version ?? '')
        .sort()
    expect(await versions()).toEqual(['1.0', '1.1', '1.2'])
    await more('jammy', 'Versions kept')
    await dialog().getByRole('button', { name: 'Clean up now' }).click()
    await expect.poll(versions).toEqual(['1.0', '1.2'])
    await dialog().getByRole('button', { name: 'Unpin hello 1.0' }).click()
    await dialog().getByText('A pinned version stays, whatever the rule says.').waitFor()
  })

  test('a distribution is shown to one group alone, and its tree asks for a token; to others it looks absent', async () => {
    await daemon.upload(await buildDeb({ name: 'secret-tool', version: '1.0' }), {
      token: admin,
      distribution: 'noble',
    })
    await signIn('#/users?tab=groups')
    await page.getByRole('button', { name: 'Create group' }).first().click()
    await dialog().getByLabel('Name').fill('plant')
    await dialog().getByRole('group', { name: 'Members' }).getByLabel('ulf').check()
    await isFine()
    await dialog().getByRole('button', { name: 'Create group' }).click()
    await page.getByRole('row', { name: /plant/ }).getByText('no rule names it').waitFor()

    await page.goto(`${daemon.url}/#/distributions`)
    await more('noble', 'Who sees it')
    await dialog().getByText('Nobody is named, so everybody who is signed in sees it.').waitFor()
    await dialog().getByRole('group', { name: 'Groups' }).getByLabel('plant').check()
    await dialog().getByLabel('Machines need a token').check()
    await dialog().getByText('To everybody else it looks absent').waitFor()
    await isFine()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    const seen = async (username: string): Promise<number> => {
      const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
        body: { username, password: PASSWORD },
      })
      return (await daemon.call('GET', '/artifacts/secret-tool', { token: body.access_token })).status
    }
    expect([
      await seen('ulf'),
      await seen('rita'),
      (await daemon.call('GET', '/repos/dists/noble/InRelease')).status,
    ]).toEqual([200, 404, 401])
    await page.goto(`${daemon.url}/#/users?tab=groups`)
    expect(
      await page
        .getByRole('row', { name: /plant/ })
        .getByRole('button', { name: /Delete plant/ })
        .getAttribute('aria-disabled'),
    ).toBe('true') // a rule names it
  })

  test('a published version is quarantined with a reason, its bill of materials is saved, and the menu works by keyboard', async () => {
    await signIn('#/packages?pick=hello&version=1.2&in=jammy&arch=amd64')
    const open = page.getByRole('button', { name: 'More', exact: true })
    await open.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Look up again' }).and(page.locator(':focus')).waitFor()
    await isFine()
    await page.keyboard.press('ArrowDown')
    const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    expect(JSON.parse(await readFile(await saved.path(), 'utf8'))).toMatchObject({ bomFormat: 'CycloneDX' })
    await open.click()
    await page.getByRole('menuitem', { name: 'Quarantine' }).click()
    expect(await dialog().getByRole('button', { name: 'Quarantine' }).getAttribute('aria-disabled')).toBe('true')
    await dialog().getByLabel('Why').fill('The vendor withdrew it.')
    await dialog().getByRole('button', { name: 'Quarantine' }).click()
    await page.getByText('hello 1.2 is quarantined').waitFor()
    expect((await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text).not.toContain(
      'Version: 1.2\n',
    )
    const { body } = await daemon.call<{ items: { detail: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=QUARANTINE',
      { token: admin },
    )
    expect(body.items[0]?.detail).toContain('The vendor withdrew it.')
  })

  test('a locked account says until when, and is opened with one button', async () => {
    for (let n = 0; n < 5; n++)
      await daemon.call('POST', '/auth/token', { body: { username: 'rita', password: 'wrong' } })
    await signIn('#/users')
    await page.getByText(/^Locked until/).waitFor()
    await isFine()
    await page.getByRole('button', { name: 'Unlock rita' }).click()
    await page.getByText('The account rita is open again.').waitFor()
    await page.getByText(/^Locked until/).waitFor({ state: 'detached' })
    const { status } = await daemon.call('POST', '/auth/token', { body: { username: 'rita', password: PASSWORD } })
    expect(status).toBe(200)
  })

  test('a role that was refused shows what it still is, not what was chosen', async () => {
    await signIn('#/users')
    const role = page.getByRole('combobox', { name: 'Role of rita' })
    await role.waitFor()
    await page.route('**/api/v1/auth/users/rita', route => route.abort('connectionrefused'))
    await role.selectOption('admin')
    await page.getByText('rita is unchanged').waitFor()
    await expect.poll(() => role.inputValue()).toBe('reader')
    await page.getByRole('checkbox', { name: 'rita is active' }).click()
    await expect.poll(() => page.getByText('rita is unchanged').count()).toBe(2)
    await expect.poll(() => page.getByRole('checkbox', { name: 'rita is active' }).isChecked()).toBe(true)
  })

  test("a person's page shows by what they see each distribution, and what a change shows before it is saved", async () => {
    await daemon.call('PUT', '/access/groups/desk', { token: admin, body: { members: [] } })
    await daemon.call('PUT', '/access/distributions/noble', { token: admin, body: { groups: ['desk'] } })
    await daemon.call('POST', '/auth/token', { body: { username: 'rita', password: PASSWORD } })
    await signIn('#/users')
    await page.getByRole('link', { name: 'rita', exact: true }).click()
    const rows = page.getByRole('region', { name: 'Distributions of rita' }).getByRole('row')
    await rows.filter({ hasText: 'noble' }).getByText('hidden: no rule names this person').waitFor()
    await rows.filter({ hasText: 'jammy' }).getByText('everybody sees it').waitFor()
    await page
      .getByText('curl, node')
      .or(page.getByRole('button', { name: /^Sign out .+ at / }))
      .first()
      .waitFor()
    await isFine()
    await page.getByRole('checkbox', { name: 'desk' }).check()
    await page.getByLabel('Role', { exact: true }).selectOption('uploader')
    await rows.filter({ hasText: 'noble' }).getByText('the group desk').waitFor()
    const bar = page.getByRole('region', { name: 'Unsaved changes' })
    await bar.getByText('2 unsaved changes').waitFor()
    await bar.getByText('Will see noble.').waitFor()
    await isFine()
    // a dialog over them has the keys alone
    const changed: string[] = []
    page.on('request', one => {
      if (one.method() !== 'GET') changed.push(`${one.method()} ${one.url()}`)
    })
    await page.getByRole('button', { name: 'Deactivate' }).click()
    await dialog().waitFor()
    await dialog().evaluate(one =>
      one.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true })),
    )
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await bar.getByText('2 unsaved changes').waitFor()
    expect(changed).toEqual([])
    await page.setViewportSize({ width: 420, height: 900 })
    await isFine()
    await page.keyboard.press('Control+Enter')
    await page.getByText('rita is saved').waitFor()
    const { body } = await daemon.call<{ role: string }>('GET', '/auth/users/rita', { token: admin })
    expect(body.role).toBe('uploader')
    const access = await daemon.call('GET', '/access/people/rita', { token: admin })
    expect(access.body).toMatchObject({ groups: ['desk'] })
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await dialog().getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByText('Signed in nowhere.').waitFor()
    await page.getByRole('button', { name: 'Deactivate' }).click()
    await dialog().getByRole('button', { name: 'Deactivate the account' }).click()
    await page.getByText('Deactivated', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByText('rita is active').waitFor()
    await daemon.call('PUT', '/access/distributions/noble', { token: admin, body: {} })
    await daemon.call('DELETE', '/access/groups/desk', { token: admin })
    await daemon.call('PATCH', '/auth/users/rita', { token: admin, body: { role: 'reader' } })
  })

  test('others read what a person decided, and which role the rest needs; a name without an account says so', async () => {
    await signIn('#/audit')
    await page.getByRole('link', { name: 'admin', exact: true }).first().click()
    await page.getByText('You cannot change your own role.').waitFor()
    await page.goto(`${daemon.url}/#/users?person=ci`)
    await page.getByText('There is no account ci').waitFor()
    await page.evaluate(() => sessionStorage.clear())
    await page.reload()
    await signIn('#/users?person=admin', 'ulf')
    await page.getByText('Needs admin. You are uploader.').waitFor()
    await page.getByText('Needs auditor. You are uploader.').waitFor()
    await page.getByText('Decided lately').waitFor()
    await isFine()
  })
})

describe.skipIf(noBrowser !== undefined)('steering in the community edition', () => {
  test('what the edition does not have is shown, locked, and says that everything else works', async () => {
    const daemon = await startDaemon({ env: { EDITION: 'community' } })
    const browser = await launch()
    try {
      const token = await daemon.setupAdmin()
      await daemon.call('POST', '/distributions/init', { token, body: {} })
      await daemon.upload(await buildDeb({ name: 'hello', version: '1.0' }), { token })
      const { page, complaints } = await openPage(browser, `${daemon.url}/#/distributions`, { address: nextAddress() })
      await page.getByLabel('User name').fill(ADMIN.username)
      await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
      await page.keyboard.press('Enter')
      for (const [item, what, button] of [
        ['Copy packages', 'Copying between distributions', 'Copy what is ticked'],
        ['Who sees it', 'Restricted access', 'Save'],
      ] as const) {
        await page.getByRole('button', { name: 'More about jammy' }).click()
        await page.getByRole('menuitem', { name: item }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByText(`${what} is part of the enterprise edition.`).waitFor()
        await expect.poll(() => dialog.getByRole('button', { name: button }).getAttribute('aria-disabled')).toBe('true')
        expect(await axeProblems(page)).toEqual([])
        await dialog.getByRole('button', { name: 'Cancel' }).click()
      }
      expect(complaints).toEqual([])
    } finally {
      await browser.close()
      await daemon.close()
    }
  })
})
