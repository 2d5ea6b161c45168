import type { Browser as Chromium, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthority, type Authority } from '../support/authority.ts'
import { nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { createBrowser, signInWith, startProvider, type TestProvider } from '../support/oidc.ts'
import { startTlsFront, type TlsFront } from '../support/tls-front.ts'
import { axeProblems, launch, noBrowser } from '../ui/support/browser.ts'
import { startHarness, type Harness } from './harness.ts'
import { personAt } from './person.ts'

describe.skipIf(noBrowser !== undefined)('single sign-on with the desktop program', () => {
  let chromium: Chromium
  let authority: Authority
  let daemon: Daemon
  let front: TlsFront
  let provider: TestProvider
  let harness: Harness
  let id: string
  const page = (): Page => harness.page
  const { button, heading } = personAt(() => harness)

  beforeAll(async () => {
    ;[authority, daemon, chromium] = await Promise.all([createAuthority(), startDaemon(), launch()])
    const token = await daemon.setupAdmin()
    front = await startTlsFront(daemon.url, await authority.issue())
    provider = await startProvider(`${front.origin}/api/v1/auth/oidc/callback`)
    const body = {
      app_url: front.origin,
      notifications: { allow_private_hosts: '127.0.0.1' },
      oidc: signInWith(provider),
    }
    expect((await daemon.call('PATCH', '/settings/', { token, body })).status).toBe(200)
    harness = await startHarness(chromium)
    const { look } = await harness.program.home('connections.look', { address: front.origin })
    const facts = { name: 'gatehouse-01', colour: 'ochre', environment: '', by: 'fingerprint' } as const
    id = (await harness.program.home('connections.trust', { look, ...facts })).id
    await harness.program.home('connections.open', { id })
  })
  afterAll(async () => {
    await harness?.close()
    await chromium?.close()
    await Promise.all([front?.close(), provider?.close(), daemon?.close(), authority?.close()])
  })

  /** The system's browser: goes where the program sent it, as far as the address on which the program waits. */
  async function browse(start: string): Promise<string> {
    const browser = createBrowser(() => ({ 'x-forwarded-for': nextAddress() }))
    let url = start
    for (let n = 0; n < 15 && !url.includes('/back?'); n++)
      // Node does not know the authority of the test
      url = (await browser.get(url.replace(front.origin, daemon.url))).location.replace(daemon.url, front.origin)
    return url
  }
  /** What the program opened since it was asked. */
  async function press(): Promise<string> {
    const before = harness.program.opened.length
    await button('Sign in with Nordwerk').click()
    await expect.poll(() => harness.program.opened.length).toBe(before + 1)
    return harness.program.opened.at(-1) ?? ''
  }
  const exchange = (body: object) => daemon.call('POST', '/auth/oidc/exchange', { body })

  test('opens the browser at the appliance, with nothing secret in the link, and can be stopped', async () => {
    await heading('Sign in').waitFor()
    const url = new URL(await press())
    expect(url.origin + url.pathname).toBe(`${front.origin}/api/v1/auth/oidc/login`)
    expect([...url.searchParams.keys()].sort()).toEqual(['challenge', 'port', 'state'])
    await page().getByText('Waiting for your browser').first().waitFor()
    expect(await axeProblems(page())).toEqual([])
    await button('Stop waiting').click()
    await button('Sign in with Nordwerk').waitFor()
    await expect(fetch(`http://127.0.0.1:${url.searchParams.get('port')}/`)).rejects.toThrow()
  })

  test('a refusal of the provider is said in words in the window', async () => {
    provider.person = { sub: 'jon-1', preferred_username: 'jon', name: 'Jon', groups: [] }
    const back = await browse(await press())
    expect(new URL(back).searchParams.get('sso_error')).toBe('no_role')
    expect((await fetch(back)).status).toBe(200)
    await page().getByText('You are in none of the groups that have a role here.').waitFor()
  })

  test('a stranger on this computer is not heard, and what came back is worth nothing to anybody else', async () => {
    provider.person = { sub: 'ida-1', preferred_username: 'ida', name: 'Ida', groups: ['repo-maintainers'] }
    const start = await press()
    const [port, state] = ['port', 'state'].map(name => new URL(start).searchParams.get(name) ?? '') as [string, string]
    const at = `http://127.0.0.1:${port}`
    const code = 'a'.repeat(43)
    for (const [url, init] of [
      [`${at}/back?sso=${code}&state=${code}`, {}],
      [`${at}/back?sso=${code}`, {}],
      [`${at}/?sso=${code}&state=${state}`, {}],
      [`${at}/back?sso=${code}&state=${state}`, { method: 'POST' }],
    ] as const)
      expect((await fetch(url, init)).status, url).toBe(404)
    await page().getByText('Waiting for your browser').first().waitFor()

    const back = new URL(await browse(start))
    expect([back.origin, back.searchParams.get('state')]).toEqual([at, state])
    expect([...back.searchParams.keys()].sort()).toEqual(['sso', 'state'])
    // whoever has the code without the verifier uses it up and gets nothing
    const stolen = { code: back.searchParams.get('sso') ?? '' }
    expect((await exchange(stolen)).body).toMatchObject({ code: 'sso_expired' })
    expect((await exchange({ ...stolen, verifier: state })).body).toMatchObject({ code: 'sso_expired' })
    await fetch(back)
    await page().getByText('This login has ended').waitFor()
  })

  test('comes back to the program, signed in; the session is in no address', async () => {
    const start = await press()
    const back = await browse(start)
    const answer = await fetch(back)
    expect(await answer.text()).toContain('go back to Gatehouse')
    expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'/)
    await heading('Dashboard').waitFor()
    const { token } = await harness.program.page(id, 'session.read', {})
    expect((await daemon.call('GET', '/auth/me', { token: token ?? '' })).body).toMatchObject({ username: 'ida' })
    for (const url of [start, back, harness.shown()]) expect(url).not.toContain(token)
    await expect(fetch(back)).rejects.toThrow() // it waits no more
    expect(harness.complaints).toEqual([])
  })
})
