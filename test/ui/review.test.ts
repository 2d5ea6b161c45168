import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { ADMIN, nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import type { FakeAnswers } from '../support/fake-engine-daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, dropFiles, noBrowser, openPage, tooWide } from './support/browser.ts'
import { PASSWORD, settled, signInAt, visits } from './support/visits.ts'

type Known = FakeAnswers['findings'][string][number]
const HIGH: Known = {
  id: 'CVE-2026-1001',
  severity: 'high',
  fixed_in: '9',
  epss: 0.62,
  summary: 'A hole in the first door.',
}
const OTHER: Known = { id: 'CVE-2026-1002', severity: 'high', kev: true, summary: 'A hole in the second door.' }
const MEDIUM: Known = { id: 'CVE-2026-1003', severity: 'medium', summary: 'A draught.' }

describe.skipIf(noBrowser !== undefined)('reviewing in the console', () => {
  let daemon: Daemon
  let admin: string
  let ann: string
  let folder: string
  let page: Page
  const visit = visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  const findings: Record<string, readonly Known[]> = {}

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-ui-review-'))
    await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings }))
    daemon = await startDaemon({
      entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
      env: { FAKE_ANSWERS: join(folder, 'answers.json') },
    })
    admin = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
    for (const [username, role] of [
      ['ann', 'uploader'],
      ['mae', 'maintainer'],
      ['aud', 'auditor'],
    ] as const) {
      expect(
        (await daemon.call('POST', '/auth/users', { token: admin, body: { username, password: PASSWORD, role } }))
          .status,
      ).toBe(201)
    }
    ann = (
      await daemon.call<{ access_token: string }>('POST', '/auth/token', {
        body: { username: 'ann', password: PASSWORD },
      })
    ).body.access_token
  })
  afterAll(async () => {
    await daemon?.close()
    await rm(folder, { recursive: true, force: true })
  })
  afterEach(async () => {
    // what a test left waiting is no business of the next one
    for (const { name, version } of await queue())
      await daemon.call('DELETE', `/artifacts/${name}/${version}`, { token: admin })
  })

  const queue = async () =>
    (
      await daemon.call<{ packages: { items: { name: string; version: string; assigned_to: string | null }[] } }>(
        'GET',
        '/security/review-queue',
        { token: admin },
      )
    ).body.packages.items
  const stateOf = async (name: string): Promise<string> =>
    (await daemon.call<{ status: string }>('GET', `/artifacts/${name}`, { token: admin })).body.status
  const served = async (name: string): Promise<boolean> =>
    (await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text.includes(`Package: ${name}\n`)
  const decisionOf = async (name: string) =>
    (
      await daemon.call<{
        decision: { decision: string; justification: string; decided_by: string; expires_at: string | null } | null
      }>('GET', `/security/packages/${name}/1.0/decision`, { token: admin })
    ).body.decision
  async function send(name: string, known: readonly Known[], status: string, token = ann): Promise<void> {
    findings[`${name} 1.0`] = known
    await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings }))
    expect((await daemon.upload(await buildDeb({ name, version: '1.0' }), { token })).body.status).toBe(status)
  }
  const hold = (name: string, known: readonly Known[] = [HIGH], token = ann): Promise<void> =>
    send(name, known, 'pending_review', token)
  const heading = (name: string) => page.getByRole('heading', { level: 1, name })
  const signIn = (at: string, name = 'mae'): Promise<void> => signInAt(page, `${daemon.url}/${at}`, name)
  const reason = () => page.getByLabel('Justification')
  const open = (name: string): string => `#/review?pick=${name}&version=1.0&in=jammy&arch=amd64`

  test('the queue is worked through with the keyboard alone: approve one, reject the next, and it is empty', async () => {
    await hold('alpha')
    await hold('beta', [OTHER])
    await page.locator('[name=username]:focus').waitFor()
    await page.keyboard.type('mae')
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await heading('Dashboard').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await heading('Review queue').waitFor()
    await page.getByRole('row', { name: /beta/ }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter') // on the link of the row
    const first = page.getByRole('region', { name: /^(alpha|beta)$/ })
    await first.getByRole('heading', { level: 2 }).waitFor()
    const [one, two] = (await first.getAttribute('aria-label')) === 'alpha' ? ['alpha', 'beta'] : ['beta', 'alpha']
    await page.keyboard.press('m')
    await page.getByText(`${one} is yours`).waitFor()
    expect((await queue()).find(({ name }) => name === one)?.assigned_to).toBe('mae')
    await page.keyboard.press('a')
    expect(await page.getByRole('radio', { name: /^Approve/ }).isChecked()).toBe(true)
    expect(await reason().evaluate(element => element === document.activeElement)).toBe(true)
    await page.keyboard.type('Looked at with the team.')
    await page.keyboard.press('Control+Enter')
    await page.getByText(`Approved: ${one} 1.0`).waitFor()
    await expect.poll(() => served(one)).toBe(true) // the news of the decision comes before the index
    expect(await stateOf(one)).toBe('published')

    // the next one opens by itself
    await page.getByRole('region', { name: two, exact: true }).getByRole('heading', { level: 2 }).waitFor()
    await page.locator('body').click({ position: { x: 4, y: 4 } }) // out of the field
    await page.keyboard.press('r')
    await page.keyboard.type('Not in this form.')
    await page.keyboard.press('Control+Enter')
    await page.getByText(`Rejected: ${two} 1.0`).waitFor()
    await page.getByText('The queue is empty').waitFor()
    expect([await served(two), await decisionOf(two)]).toMatchObject([false, { decision: 'reject', decided_by: 'mae' }])
    const { body } = await daemon.call<{ items: { action: string; user: string; detail: string }[] }>(
      'GET',
      `/artifacts/audit/logs?package=${two}&action=SECURITY_DECISION`,
      { token: admin },
    )
    expect(body.items[0]).toMatchObject({ user: 'mae', detail: expect.stringContaining('Not in this form.') as string })
  })

  test('a decision needs a choice and a reason; a template begins the reason; an accepted risk ends on the day that was chosen', async () => {
    await hold('gamma')
    await signIn(open('gamma'))
    await page.getByRole('button', { name: /^Decide/ }).click()
    await page.getByText('Choose a decision.').waitFor()
    await page.getByText('A decision needs a reason of at least 10 characters.').waitFor()
    expect(await reason().getAttribute('aria-invalid')).toBe('true')
    expect(await axeProblems(page)).toEqual([])
    expect(await stateOf('gamma')).toBe('pending_review')

    await page.getByRole('radio', { name: /^Accept the risk/ }).check()
    expect(await page.getByLabel('Ends').inputValue()).toBe('90') // a risk is not accepted for ever by accident
    await page.getByRole('button', { name: 'Not reachable' }).click()
    expect(await reason().inputValue()).toBe('The vulnerable code is not reachable here, because ')
    await page.keyboard.type('nothing calls it.') // the focus is where one goes on
    await page.getByLabel('Ends').selectOption('On a date')
    await page.getByLabel('Last day').fill('2020-01-01')
    await page.getByRole('button', { name: /^Accept the risk/ }).click()
    await page.getByText('Choose a day that is still to come.').waitFor()
    expect(await stateOf('gamma')).toBe('pending_review')
    const day = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10)
    await page.getByLabel('Last day').fill(day)
    await page.getByRole('button', { name: /^Accept the risk/ }).click()
    await page.getByText('Risk accepted: gamma 1.0').waitFor()
    const said = await decisionOf('gamma')
    expect(said).toMatchObject({
      decision: 'accept_risk',
      justification: 'The vulnerable code is not reachable here, because nothing calls it.',
    })
    expect(Math.abs(new Date(said?.expires_at ?? 0).getTime() - new Date(`${day}T23:59:59`).getTime())).toBeLessThan(
      1000,
    )
    await expect.poll(() => served('gamma')).toBe(true)
  })

  test('a decision is taken back within its time, and nothing was sent; the next row has the focus', async () => {
    for (const name of ['back-one', 'back-two']) await hold(name)
    await signIn(open('back-one'))
    await page.getByRole('radio', { name: /^Reject/ }).check()
    await reason().fill('A slip of the hand.')
    await reason().press('Control+Enter')
    await page.getByRole('region', { name: 'back-two', exact: true }).getByRole('heading', { level: 2 }).waitFor()
    expect(await page.locator(':focus').getAttribute('aria-current')).toBe('true')
    await page.keyboard.press('z')
    await page.getByRole('region', { name: 'back-one', exact: true }).getByRole('heading', { level: 2 }).waitFor()
    await expect.poll(() => reason().inputValue()).toBe('A slip of the hand.')
    expect(await page.getByText('left to undo').count()).toBe(0)
    expect([await stateOf('back-one'), await decisionOf('back-one')]).toEqual(['pending_review', null])
  })

  test('on a phone the queue is one touch away, and what is decided or listed is never wider than the window', async () => {
    await hold('phone-one', [HIGH, OTHER, MEDIUM])
    await hold('a-package-with-a-name-that-is-longer-than-any-column-is-wide-in-any-window')
    await page.setViewportSize({ width: 420, height: 900 })
    await signIn('#/dashboard')
    const foot = page.getByRole('navigation', { name: 'Main screens' })
    expect(await foot.locator('.label').allInnerTexts()).toEqual(['Dashboard', 'Review', 'Upload', 'Packages', 'Menu'])
    const sideways = async (): Promise<(string | null)[]> => {
      await settled(page)
      return page
        .locator('main, main :is(.list, .scroll, .pane, .split, .bar, td, .drawer > .in)')
        .evaluateAll(all =>
          all
            .filter(
              one =>
                one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > document.body.clientWidth,
            )
            .map(one => `${one.className} ${one.textContent}`),
        )
    }
    const inSight = async (name: RegExp): Promise<boolean> => {
      const box = await page.getByRole('radio', { name }).boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= 420 && box.y >= 0 && box.y + box.height <= 840
    }
    await foot.getByRole('link', { name: /^Review/ }).click()
    await page.getByRole('row', { name: /phone-one/ }).waitFor()
    expect(await sideways()).toEqual([])
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.getByRole('button', { name: 'To the decision' }).click()
    await expect.poll(() => inSight(/^Approve/)).toBe(true)
    expect(await sideways()).toEqual([])
    await page.getByRole('button', { name: /^Clear/ }).click()
    await page.getByRole('link', { name: 'phone-one' }).click()
    await page.getByRole('button', { name: 'To the decision' }).click()
    await expect.poll(() => inSight(/^Reject/)).toBe(true)
    expect(await sideways()).toEqual([])

    await foot.getByRole('link', { name: 'Packages' }).click()
    const row = page.getByRole('row', { name: /phone-one/ })
    for (const said of ['jammy', 'In review', 'High']) await row.getByText(said).waitFor()
    expect([await sideways(), await axeProblems(page)]).toEqual([[], []])

    await foot.getByRole('button', { name: 'Menu' }).click()
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('link', { name: 'Vulnerabilities' }).click()
    await heading('Vulnerabilities').waitFor()
    expect([await page.getByRole('complementary', { name: 'Sidebar' }).count(), await sideways()]).toEqual([0, []])
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('all that match are looked at, then decided by the server; the remarked one only when it is ticked', async () => {
    for (let n = 0; n < 27; n++) await hold(`bulk-${n}`)
    await hold('bulk-kev', [OTHER])
    await signIn('#/review?sort=name')
    await page.getByRole('row', { name: /bulk-3/ }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 of 28 ticked').waitFor()
    await page.getByRole('button', { name: 'Select all 28 that match' }).click()
    await page.getByText('All 28 packages that match').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('radio', { name: /^Make an exception/ }).check()
    await reason().fill('The same library in all of them.')
    const verb = /^Make an exception, 28 packages/
    // what follows stands beside the button, in sight
    expect(await page.getByText('What happens').isVisible()).toBe(true)
    await page.getByRole('button', { name: verb }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 package must not go along unseen.').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Make an exception, 27 packages' }).waitFor()
    await dialog.getByRole('checkbox', { name: /bulk-kev/ }).check()
    await dialog.getByRole('button', { name: verb }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Make an exception: 28 packages').waitFor()
    expect(await stateOf('bulk-kev')).toBe('pending_review')
    await page.getByText('The queue is empty').waitFor()
    expect([await stateOf('bulk-kev'), await stateOf('bulk-26')]).toEqual(['published', 'published'])
    expect(await decisionOf('bulk-26')).toMatchObject({ decision: 'exception', decided_by: 'mae' })
  })

  const isChosen = (name: RegExp): Promise<boolean> => page.getByRole('radio', { name }).isChecked()

  test('the keys of decisions go on after a row was ticked; a choice and its reason stay with their package', async () => {
    await hold('key-one')
    await hold('key-two')
    await signIn('#/review?sort=name')
    await page.getByRole('row', { name: /key-two/ }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 of 2 ticked').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('1 of 2 ticked').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'key-one' }).click()
    await page.getByRole('region', { name: 'key-one', exact: true }).getByRole('heading', { level: 2 }).waitFor()
    await page.keyboard.press('a')
    expect(await isChosen(/^Approve/)).toBe(true)
    await page.keyboard.type('Only for the first.')
    await page.keyboard.press('Escape') // leaves the field, and nothing else
    expect(await reason().evaluate(field => field === document.activeElement)).toBe(false)
    await page.keyboard.press('j')
    await page.getByRole('region', { name: 'key-two', exact: true }).getByRole('heading', { level: 2 }).waitFor()
    expect([await isChosen(/^Approve/), await reason().inputValue()]).toEqual([false, ''])
    await page.keyboard.press('k')
    await page.getByRole('region', { name: 'key-one', exact: true }).getByRole('heading', { level: 2 }).waitFor()
    expect([await isChosen(/^Approve/), await reason().inputValue()]).toEqual([true, 'Only for the first.'])
    await page.keyboard.press('Escape')
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.getByText('2 of 2 ticked').waitFor()
    expect([await isChosen(/^Approve/), await reason().inputValue()]).toEqual([false, ''])
  })

  test('a decision about many keeps its ticks and its reason over a reload, and when it is taken back', async () => {
    await hold('again-one')
    await hold('again-two')
    await signIn('#/review')
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.getByRole('radio', { name: /^Reject/ }).check()
    await reason().fill('Neither of the two.')
    await page.getByRole('button', { name: /^Reject, 2 packages/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Would be decided').waitFor()
    await page.reload()
    await page.getByText('2 of 2 ticked').waitFor()
    expect([await isChosen(/^Reject/), await reason().inputValue()]).toEqual([true, 'Neither of the two.'])
    await page.getByRole('button', { name: /^Reject, 2 packages/ }).click()
    await dialog.getByRole('button', { name: 'Reject, 2 packages' }).click()
    await page.getByText('Reject: 2 packages').waitFor()
    await page.getByText('2 of 2 ticked').waitFor({ state: 'detached' })
    await page.keyboard.press('z')
    await page.getByText('2 of 2 ticked').waitFor()
    expect([await isChosen(/^Reject/), await reason().inputValue()]).toEqual([true, 'Neither of the two.'])
    expect(await stateOf('again-one')).toBe('pending_review')
  })

  test('one vulnerability is decided alone, and the package is published when none is left', async () => {
    await hold('delta', [HIGH, OTHER])
    await signIn(open('delta'))
    const row = (id: string) => page.getByRole('row', { name: new RegExp(id) })
    await page.getByRole('heading', { name: '2 findings, 2 open' }).waitFor()
    await page.getByRole('checkbox', { name: `Decide about ${HIGH.id}` }).check()
    await page.getByText('only; the rest of the package stays open.').waitFor()
    await page.getByRole('radio', { name: /^Approve/ }).check()
    await reason().fill('Behind the wall.')
    await page.getByRole('button', { name: /^Approve/ }).click()
    await row(HIGH.id).getByText('accepted by mae').waitFor()
    await page.getByRole('heading', { name: '2 findings, 1 open' }).waitFor()
    expect([await stateOf('delta'), await served('delta')]).toEqual(['pending_review', false])
    await page.getByRole('checkbox', { name: `Decide about ${OTHER.id}` }).check()
    await page.getByRole('radio', { name: /^Approve/ }).check()
    await reason().fill('Mitigated at the gateway.')
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByText('The queue is empty').waitFor()
    await expect.poll(() => served('delta')).toBe(true)
    expect(await stateOf('delta')).toBe('published')
  })

  test('somebody else was first: it is said, and what is shown is read again', async () => {
    await hold('epsilon')
    await signIn(open('epsilon'))
    await page.getByRole('radio', { name: /^Approve/ }).check()
    await reason().fill('Fine as it is.')
    await page.route('**/dashboard/events', route => route.abort('connectionrefused')) // the news does not come in time
    await daemon.call('POST', '/security/packages/epsilon/1.0/decide', {
      token: admin,
      body: { decision: 'reject', justification: 'No.' },
    })
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByText('Not decided: epsilon 1.0').waitFor()
    await page.goto(`${daemon.url}/${open('epsilon')}`)
    expect(await stateOf('epsilon')).toBe('rejected')
    await expect.poll(() => reason().inputValue()).toBe('Fine as it is.')
  })

  test('a decision that cannot be sent is not lost: neither without a connection, nor without an answer', async () => {
    await hold('zeta')
    await signIn(open('zeta'))
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('radio', { name: /^Approve/ }).check()
    await reason().fill('Written before the cable was pulled.')
    await page.route('**/decide', route => route.abort('connectionrefused'))
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByText('The server does not answer.').waitFor()
    await page.goto(`${daemon.url}/${open('zeta')}`)
    await reason().waitFor()
    expect([await reason().inputValue(), await stateOf('zeta')]).toEqual([
      'Written before the cable was pulled.',
      'pending_review',
    ])
    await page.unroute('**/decide')

    await daemon.kill9()
    let isBack = false
    onTestFailed(async () => {
      if (!isBack) await daemon.restart()
    }) // the others need it
    await page.getByRole('button', { name: /Offline since/ }).waitFor()
    const approve = page.getByRole('button', { name: /^Approve/ })
    await expect.poll(() => approve.getAttribute('aria-disabled')).toBe('true')
    await reason().press('Control+Enter')
    await page.mouse.move(2, 2)
    await approve.hover()
    expect(await page.locator('.tip').textContent()).toBe('There is no connection to the server.')
    await daemon.restart()
    isBack = true
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await reason().inputValue()).toBe('Written before the cable was pulled.')
    await approve.click()
    await page.getByText('Approved: zeta 1.0').waitFor()
    await expect.poll(() => served('zeta')).toBe(true)
  })

  test('a session that ends in the middle of a decision asks for the password over it, and the decision is still there; not for somebody else', async () => {
    await hold('eta')
    await signIn(open('eta'))
    const endSession = async (): Promise<void> => {
      const token = (await page.evaluate(() => sessionStorage.getItem('gatehouse.token'))) ?? ''
      expect((await daemon.call('POST', '/auth/logout', { token })).status).toBe(200)
    }
    // the page may know by itself that the session is over, and ask before the button is pressed
    const pressed = (): Promise<void> => page.getByRole('button', { name: /^Approve/ }).dispatchEvent('click')
    await page.getByRole('radio', { name: /^Approve/ }).check()
    await reason().fill('Half a thought')
    await reason().press('End')
    await endSession()
    // the window reads by itself, and nothing is pressed
    await page.evaluate(() => {
      location.hash += '&sort=name'
    })
    const door = page.getByRole('dialog', { name: 'Sign in again' })
    await door.getByText('Your session ended.').waitFor()
    // the rest of the sentence does not go where the password goes
    await page.keyboard.type(' more')
    expect(await door.getByLabel('Password', { exact: true }).inputValue()).toBe('')
    expect(await door.getByRole('heading', { name: 'Sign in' }).evaluate(one => one === document.activeElement)).toBe(
      true,
    )
    expect(await door.getByLabel('User name').inputValue()).toBe('mae')
    expect(await axeProblems(page)).toEqual([])
    for (let n = 0; n < 3; n++) await page.keyboard.press('Escape') // it is no dialog that one leaves
    await door.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await door.waitFor({ state: 'detached' })
    await page.goto(`${daemon.url}/${open('eta')}`) // the queue had gone on
    await reason().waitFor()
    expect([await reason().inputValue(), new URL(page.url()).hash]).toEqual(['Half a thought', open('eta')])
    await reason().fill('Half a thought, and the rest.')
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByText('Approved: eta 1.0').waitFor()
    expect((await decisionOf('eta'))?.justification).toBe('Half a thought, and the rest.')

    // what was refused meanwhile is no fault of who is back, however long the answers take
    await page.goto(`${daemon.url}/#/review`)
    await page.getByText('The queue is empty').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await endSession()
    await hold('late-answer')
    await door.getByLabel('Password', { exact: true }).waitFor()
    const answers = Promise.withResolvers<void>()
    await page.route(/security\/review-queue\?/, async route => {
      await answers.promise
      await route.continue()
    })
    await door.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await door.waitFor({ state: 'detached' })
    expect(await page.getByText('This needs a credential.').count()).toBe(0)
    answers.resolve()
    await page.getByRole('row', { name: /late-answer/ }).waitFor()
    await page.unrouteAll()

    await hold('theta')
    await page.goto(`${daemon.url}/${open('theta')}`)
    await reason().fill('For nobody else’s eyes')
    await page.getByRole('radio', { name: /^Approve/ }).check()
    await endSession()
    await pressed()
    await door.getByLabel('User name').fill('aud')
    await door.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await door.waitFor({ state: 'detached' })
    await page.goto(`${daemon.url}/${open('theta')}`)
    await page.getByRole('region', { name: 'theta' }).getByRole('heading', { level: 2 }).waitFor()
    expect(await reason().inputValue()).toBe('')
    const stored = (): Promise<string> => page.evaluate(() => JSON.stringify(sessionStorage))
    expect(await stored()).not.toContain('For nobody')
    expect(await page.getByRole('button', { name: /^Decide/ }).getAttribute('aria-disabled')).toBe('true')

    // and whoever signs out leaves nothing, not for himself either
    await reason().fill('Gone when I go')
    await expect.poll(stored).toContain('Gone when I go')
    await page.goto(`${daemon.url}/#/profile`)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await stored()).not.toContain('Gone when I go')
    await signIn(open('theta'), 'aud')
    await reason().waitFor()
    expect(await reason().inputValue()).toBe('')
  })

  test('a change of the policy shows what it would move before it is saved, outlives a look elsewhere, and is saved', async () => {
    await send('iota', [MEDIUM], 'published')
    await signIn('#/policy', ADMIN.username)
    const policy = async (): Promise<unknown> =>
      (await daemon.call<{ cve_policy: Record<string, unknown> }>('GET', '/settings/', { token: admin })).body
        .cve_policy.medium
    const warn = page.getByRole('radio', { name: 'medium: Warn' })
    await warn.waitFor()
    const saved = page.getByRole('region', { name: 'Preview' })
    await saved.locator('.bigfact').waitFor()
    // of none there is nothing to say where it stays
    expect(await saved.innerText()).not.toMatch(/\b0 packages move[^]*They were stored/)
    await warn.focus()
    await page.keyboard.press('ArrowLeft') // one step harder
    expect(await page.getByRole('radio', { name: 'medium: Review' }).isChecked()).toBe(true)
    const preview = page.getByRole('region', { name: 'Preview' })
    await preview.getByText('would wait for review and leave the index').waitFor()
    await preview.getByRole('link', { name: 'iota' }).waitFor()
    await page.getByText('1 change not saved.').waitFor()
    expect([await axeProblems(page), await policy()]).toEqual([[], 'warn'])
    await expect.poll(() => served('iota')).toBe(true)

    await page.goto(`${daemon.url}/#/engines`)
    await heading('Engines').waitFor()
    await page.goto(`${daemon.url}/#/policy`)
    await page.getByText('1 change not saved.').waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    expect(await page.getByRole('radio', { name: 'medium: Warn' }).isChecked()).toBe(true)

    await page.getByLabel('high: days to decide').fill('-1')
    await page.getByText('Whole days, at most 3,650.').first().waitFor()
    expect(await page.getByRole('button', { name: 'Save the policy' }).getAttribute('aria-disabled')).toBe('true')
    await page.getByLabel('high: days to decide').fill('14')
    await page.getByLabel('Four eyes').check()
    await page.getByRole('button', { name: 'Save the policy' }).click()
    await page.getByText('The policy is saved').waitFor()
    const { body } = await daemon.call('GET', '/settings/', { token: admin })
    expect(body).toMatchObject({ cve_policy: { sla_high_days: 14, medium: 'warn' }, review: { four_eyes: true } })
    await daemon.call('PATCH', '/settings/', {
      token: admin,
      body: { cve_policy: { sla_high_days: 30 }, review: { four_eyes: false } },
    })
  })

  test('rules that contradict one another are saved only when they are meant so, and what they move is scanned at once', async () => {
    await send('iota-two', [MEDIUM], 'published')
    await signIn('#/policy', ADMIN.username)
    const policy = async (): Promise<unknown> =>
      (await daemon.call<{ warnings: unknown[] }>('GET', '/security/policy', { token: admin })).body
    const block = page.getByRole('radio', { name: 'medium: Block' })
    await block.waitFor()
    await page.getByRole('radio', { name: 'medium: Block' }).check({ force: true })
    const preview = page.getByRole('region', { name: 'Preview' })
    await preview.getByText('The rules contradict one another.').waitFor()
    await page.getByRole('button', { name: 'Save the policy' }).click()
    const door = page.getByRole('dialog', { name: 'Save rules that contradict one another?' })
    await door.getByText('A finding that is high is treated more mildly than one that is medium').waitFor()
    expect([await axeProblems(page), await policy()]).toMatchObject([[], { medium: 'warn' }])
    await door.getByRole('button', { name: 'Cancel' }).click()
    expect(await policy()).toMatchObject({ medium: 'warn', warnings: [] })

    await preview.getByRole('link', { name: 'iota-two' }).waitFor()
    await preview.getByRole('button', { name: /^Save and scan now, \d+ packages?$/ }).click()
    await door.getByRole('button', { name: 'Save all the same' }).click()
    await page.getByText(/^Scanning again: \d+ packages?$/).waitFor()
    expect(await policy()).toMatchObject({ medium: 'block', warnings: [expect.any(String)] })
    await expect.poll(() => served('iota-two'), { timeout: 20_000 }).toBe(false)
    await daemon.call('PATCH', '/security/policy', { token: admin, body: { medium: 'warn' } })
  })

  test('an upload that was held offers its review; a press anywhere in a row of the queue opens it', async () => {
    findings['dropped 1.0'] = [HIGH]
    await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings }))
    await signIn('#/upload')
    await dropFiles(page, 'body', [
      { name: 'dropped_1.0_amd64.deb', bytes: await buildDeb({ name: 'dropped', version: '1.0' }) },
    ])
    await page.getByRole('row').getByRole('link', { name: 'Review', exact: true }).click()
    await page.getByRole('heading', { level: 2, name: 'dropped' }).waitFor()
    expect(page.url()).toContain('#/review?pick=dropped')
    await page.goto(`${daemon.url}/#/review`)
    await page
      .getByRole('row', { name: /dropped/ })
      .getByText('jammy')
      .click()
    await page.getByRole('heading', { level: 2, name: 'dropped' }).waitFor()
  })

  test('who may not decide sees the queue and every control, and why it is not theirs', async () => {
    await hold('kappa')
    await signIn(open('kappa'), 'aud')
    const button = page.getByRole('button', { name: /^Decide/ })
    await button.hover()
    expect(await page.locator('.tip').textContent()).toBe('Needs maintainer. You are auditor.')
    await page.goto(`${daemon.url}/#/policy`)
    await page.getByText('The policy belongs to admins').waitFor()
  })

  test.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 960],
    ['dark', 420],
  ] as const)(
    'has no serious axe finding, no policy violation and no sideways scrolling: %s, %d px',
    async (theme, width) => {
      await hold(
        'a-package-with-a-name-that-is-longer-than-any-column-is-wide-in-any-window',
        Array.from({ length: 30 }, (_, n) => ({ ...HIGH, id: `CVE-2026-${2000 + n}` })),
      )
      await hold('lambda', [OTHER])
      const narrow = await openPage(visit.browser, daemon.url, { theme, width, address: nextAddress() })
      const found: string[] = []
      await narrow.page.getByLabel('User name').fill(ADMIN.username)
      await narrow.page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
      await narrow.page.keyboard.press('Enter')
      await narrow.page.locator('.bar h1').waitFor()
      for (const at of [
        '#/review',
        open('lambda'),
        open('a-package-with-a-name-that-is-longer-than-any-column-is-wide-in-any-window'),
        '#/review?q=nothing',
        '#/vulnerabilities',
        '#/vulnerabilities?by=package',
        `#/vulnerabilities?cve=${OTHER.id}`,
        '#/policy',
        '#/engines',
      ]) {
        await narrow.page.goto(`${daemon.url}/${at}`)
        await narrow.page.locator('.bar h1').waitFor()
        await settled(narrow.page)
        found.push(...(await axeProblems(narrow.page)).map(problem => `${at} ${problem}`))
        if ((await tooWide(narrow.page)) > 0) found.push(`${at} is too wide`)
      }
      await narrow.context.close()
      expect({ found, complaints: narrow.complaints }).toEqual({ found: [], complaints: [] })
    },
  )
})
