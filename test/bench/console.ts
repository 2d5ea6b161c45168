import { existsSync, globSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { launch, noBrowser, openPage } from '../ui/support/browser.ts'
import { setup as buildConsole } from '../ui/support/built.ts'
import { nameOf } from './add-one.ts'
import { longestTask, scrollFrames, watchTasks } from './page-times.ts'
import { ADMIN, namedInTree, startServer, type Server } from './server.ts'
import { makeStockedRoot } from './stocked-root.ts'

const DIST = join(import.meta.dirname, '..', '..', 'ui', 'dist')
const DECIDED = 500
const LIST = '[aria-label="Package list"]'
const SCROLL_MS = 5000

interface Line {
  readonly what: string
  readonly value: number
  readonly unit: string
  readonly atMost?: number
}

function print({ what, value, unit, atMost }: Line): boolean {
  const isWithin = atMost === undefined || value <= atMost
  const wanted = atMost === undefined ? '' : `, at most ${atMost}`
  console.log(`${isWithin ? 'ok  ' : 'OVER'} ${what}: ${value.toFixed(value < 10 ? 1 : 0)} ${unit}${wanted}`)
  return isWithin
}

/** Scripts, styles and the page itself; fonts are compressed already and come beside it. */
function measureSize(): readonly Line[] {
  const files = globSync('**/*.{js,css,html,svg}', { cwd: DIST }).map(name => join(DIST, name))
  const sum = (all: readonly string[]): number => all.reduce((bytes, file) => bytes + statSync(file).size, 0) / 1024
  return [
    { what: 'the console on disk', value: sum(files), unit: 'KB' },
    {
      what: 'the console as it is served',
      value: sum(files.map(file => (existsSync(`${file}.br`) ? `${file}.br` : file))),
      unit: 'KB',
    },
  ]
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('User name').fill(ADMIN.username)
  await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('tbody a.main').first().waitFor()
}

/** From a reload with a session to rows that can be pressed. */
async function measureStart(page: Page): Promise<readonly Line[]> {
  const start = performance.now()
  await page.reload()
  await page.locator('tbody a.main').first().waitFor()
  const usable = performance.now() - start
  await setTimeout(1000) // what follows the first rows counts as well
  return [
    { what: 'start to usable', value: usable, unit: 'ms' },
    { what: 'longest task of the start', value: await longestTask(page), unit: 'ms' },
  ]
}

async function measureScroll(page: Page): Promise<readonly Line[]> {
  await longestTask(page)
  const frames = await scrollFrames(page, LIST, SCROLL_MS)
  const rows = await page.locator('tbody tr').count()
  return [
    { what: `longest of ${frames.length} frames of scrolling`, value: Math.max(...frames), unit: 'ms', atMost: 50 },
    { what: 'longest task of scrolling', value: await longestTask(page), unit: 'ms', atMost: 50 },
    { what: 'rows in the document then', value: rows, unit: 'rows', atMost: 200 },
  ]
}

async function measureSearch(page: Page, packages: number): Promise<readonly Line[]> {
  const field = page.getByRole('searchbox', { name: 'Search packages' })
  const lines: Line[] = []
  for (const term of [nameOf(Math.floor(packages / 2)), 'b', 'nothing-like-it']) {
    const answered = page.waitForResponse(one => one.url().includes(`q=${term}`))
    const start = performance.now()
    await field.fill(term)
    await answered
    await page.locator(`${LIST}[aria-busy="false"]`).waitFor()
    const value = performance.now() - start
    lines.push({ what: `answer to “${term}”, with the pause of 250 ms after typing`, value, unit: 'ms' })
  }
  return [...lines, { what: 'longest task of searching', value: await longestTask(page), unit: 'ms' }]
}

/** What the console asks when everything on some pages is ticked. The time to take it back is not counted. */
async function measureDecisions({ url }: Server, page: Page): Promise<readonly Line[]> {
  const token = await page.evaluate(() => sessionStorage.getItem('gatehouse.token') ?? '')
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(new URL(`/api/v1${path}`, url), {
      method,
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }
  const packages: object[] = []
  for (let n = 1; packages.length < DECIDED; n++) {
    type Queue = { packages: { items: { name: string; version: string; distribution: string; arch: string }[] } }
    const { packages: some } = await ask<Queue>('GET', `/security/review-queue?per_page=100&page=${n}`)
    if (some.items.length === 0) break
    packages.push(...some.items.map(({ name, version, distribution, arch }) => ({ name, version, distribution, arch })))
  }
  const decision = 'approve'
  const start = performance.now()
  const { selection } = await ask<{ selection: string }>('POST', '/security/review-queue/preview', {
    ...{ decision, packages: packages.slice(0, DECIDED) },
  })
  const looked = performance.now() - start
  const sent = await ask<{ job_id: string; begins_at: string; total: number }>(
    'POST',
    '/security/review-queue/decide',
    {
      ...{ selection, decision, justification: 'Looked at all of them, one by one.' },
    },
  )
  for (;;) {
    const job = await ask<{ finished_at: string | null }>('GET', `/jobs/${sent.job_id}`)
    if (job.finished_at !== null) {
      const value = Date.parse(job.finished_at) - Date.parse(sent.begins_at)
      return [
        { what: `look at a decision about ${sent.total}`, value: looked, unit: 'ms' },
        { what: `decide on ${sent.total} and publish them`, value: value / 1000, unit: 's' },
      ]
    }
    await setTimeout(100)
  }
}

/** `npm run bench console -- 50000 2000`: packages, and how many of them are held. */
export async function run([all = '50000', waiting = '2000']: readonly string[]): Promise<boolean> {
  if (noBrowser !== undefined) throw new Error(noBrowser)
  const [packages, held] = [Number(all), Number(waiting)]
  const root = await mkdtemp(join(tmpdir(), 'gh-bench-console-'))
  buildConsole()
  const browser = await launch()
  let server: Server | undefined
  try {
    await makeStockedRoot(root, packages, held)
    server = await startServer(root)
    await namedInTree(server, packages - held)
    const { page } = await openPage(browser, new URL('/#/packages', server.url).href)
    await watchTasks(page)
    await signIn(page)
    const lines = [
      ...measureSize(),
      ...(await measureStart(page)),
      ...(await measureScroll(page)),
      ...(await measureSearch(page, packages)),
      ...(await measureDecisions(server, page)),
    ]
    console.log(`the console over ${packages} packages, ${held} of them held; load ${loadavg()[0]?.toFixed(1)}`)
    return lines.map(print).every(Boolean)
  } finally {
    await browser.close()
    await server?.stop()
    await rm(root, { recursive: true, force: true })
  }
}
