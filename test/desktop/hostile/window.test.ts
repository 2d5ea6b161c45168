import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createAuthority, type Authority } from '../../support/authority.ts'
import { ADMIN, startDaemon, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { startTlsFront, type TlsFront } from '../../support/tls-front.ts'
import { dropFiles, launch, noBrowser } from '../../ui/support/browser.ts'
import { startHarness, type Harness } from '../harness.ts'
import { personAt } from '../person.ts'

const IMAGE = '<img src=x onerror="window.__hit=1">'
const SCRIPT = '<script>window.__hit=1</script>'
const FILE = '<img src=x onerror=window.__hit=1>_1.0_amd64.deb'

/** Markup in what others wrote, in the real window; inputs.test.ts says what the list is. */
describe.skipIf(noBrowser !== undefined)('markup of others in the window', () => {
  let browser: Browser
  let authority: Authority
  let daemon: Daemon
  let front: TlsFront
  let harness: Harness
  let folder: string
  let id: string
  const page = (): Page => harness.page
  const { givePassword, heading } = personAt(() => harness)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-hostile-'))
    ;[authority, daemon, browser] = await Promise.all([createAuthority(), startDaemon(), launch()])
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    const bytes = await buildDeb({
      name: 'hello',
      version: '1.0',
      fields: {
        Description: `${IMAGE} ${SCRIPT}`,
        Maintainer: `"${SCRIPT}" <a@example.org>`,
        Homepage: 'javascript:window.__hit=1',
      },
    })
    expect((await daemon.upload(bytes, { token })).body.status).toBe('published')
    front = await startTlsFront(daemon.url, await authority.issue())
    harness = await startHarness(browser)
    const { look } = await harness.program.home('connections.look', { address: front.origin })
    const facts = { name: IMAGE, colour: 'ochre', environment: SCRIPT, by: 'fingerprint' } as const
    id = (await harness.program.home('connections.trust', { look, ...facts })).id
  })
  afterAll(async () => {
    await harness?.close()
    await browser?.close()
    await Promise.all([front?.close(), daemon?.close(), authority?.close()])
    await rm(folder, { recursive: true, force: true })
  })
  afterEach(async () => {
    expect(await page().evaluate(() => '__hit' in window)).toBe(false)
    expect(await page().locator('img[src="x"]').count()).toBe(0)
    expect(harness.program.opened).toEqual([])
    expect(harness.complaints).toEqual([])
  })
  const go = (hash: string): Promise<void> =>
    page().evaluate(to => {
      location.hash = to
    }, hash)

  test('in an announcement of the network, and in the name of an appliance, is read as text', async () => {
    await page().evaluate(
      name =>
        (window as unknown as { __tell: (event: string, value: unknown) => void }).__tell('discovery.moved', [
          { name, address: '10.20.0.31', version: name, is_set_up: false },
        ]),
      IMAGE,
    )
    await expect.poll(() => page().getByText(IMAGE).count()).toBeGreaterThanOrEqual(2)
    await page().getByText(SCRIPT).first().waitFor()
  })

  test('in the description of a package is read as text, and its homepage is no link', async () => {
    harness.program.desktop.openLink(`gatehouse://127.0.0.1:${front.port}/packages?pick=hello&in=jammy`)
    await givePassword(ADMIN)
    await page().getByText(IMAGE).first().waitFor()
    const links = await page()
      .locator('a')
      .evaluateAll(all => all.map(one => (one as HTMLAnchorElement).href))
    expect(links.filter(link => /^(javascript|data|vbscript):/.test(link))).toEqual([])
  })

  test('in a search, which a link filled in, is read as text', async () => {
    await go(`#/packages?q=${encodeURIComponent(IMAGE)}`)
    await expect.poll(() => page().getByLabel('Search packages').inputValue()).toBe(IMAGE)
  })

  test('in the name of a file that is dropped is read as text, and so is its refusal', async () => {
    const bytes = Buffer.from('no package')
    await writeFile(join(folder, FILE), bytes)
    await harness.know({ [FILE]: join(folder, FILE) })
    await go('#/upload')
    await heading('Upload').waitFor()
    await dropFiles(page(), 'body', [{ name: FILE, bytes }])
    await page().getByText(FILE).first().waitFor()
    const problem = async (): Promise<string | undefined> =>
      (await harness.program.page(id, 'uploads.list', {})).items[0]?.problem?.message
    await expect.poll(problem).toMatch(/package/)
  })

  test('in the audit log is read as text', async () => {
    await daemon.call('POST', '/auth/token', { body: { username: IMAGE, password: 'x' } })
    await go('#/audit')
    await heading('Audit').waitFor()
    await page().getByText(IMAGE).first().waitFor()
  })

  test('a page cannot reach another origin, nor the bridge of another page', async () => {
    const tried = await page().evaluate(async () => {
      const sent = async (url: string): Promise<string> =>
        fetch(url).then(
          () => 'sent',
          () => 'refused',
        )
      const bridge = (window as unknown as { gatehouse: { invoke: (c: string, a: unknown) => Promise<unknown> } })
        .gatehouse
      return [await sent('http://127.0.0.1:9/'), await bridge.invoke('connections.look', { address: '127.0.0.1' })]
    })
    expect(tried).toEqual(['refused', expect.objectContaining({ ok: false, code: 'not_here' })])
    harness.complaints.length = 0 // the policy said so
  })
})
