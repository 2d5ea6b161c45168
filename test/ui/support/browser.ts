import { existsSync } from 'node:fs'
import { AxeBuilder } from '@axe-core/playwright'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
/** Why browser suites cannot run here, or undefined. */
export const noBrowser = existsSync(CHROMIUM) ? undefined : `${CHROMIUM} is not there; install chromium`

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--headless=new',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--font-render-hinting=none',
    ],
  })
}

/** A page that remembers everything the browser complained about: policy violations, errors of ours, failed loads.
 * @param address  the client's address as the limits see it */
export async function openPage(
  browser: Browser,
  url: string,
  {
    theme = 'light',
    width = 1440,
    height = 900,
    address,
  }: { theme?: 'light' | 'dark'; width?: number; height?: number; address?: string } = {},
): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    ...(address === undefined ? {} : { extraHTTPHeaders: { 'X-Forwarded-For': address } }),
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', message => {
    // a refused request is an answer the console expects to meet; the browser logs every one of them
    if (
      ['error', 'warning'].includes(message.type()) &&
      !/Failed to load resource: (the server responded with a status of (4|5)\d\d|net::ERR_(EMPTY_RESPONSE|INTERNET_DISCONNECTED|CONNECTION|INCOMPLETE_CHUNKED_ENCODING))/.test(
        message.text(),
      )
    )
      complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(String(error)))
  await page.goto(url)
  return { page, context, complaints }
}

/** What axe finds that is serious or critical, one line each. */
export async function axeProblems(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(node => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`)
          .join(' | ')}`,
    )
}

/** How far the page is wider than its window. */
export function tooWide(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
}

/** Drops real files on an element, as a person with a mouse does. */
export async function dropFiles(
  page: Page,
  selector: string,
  files: readonly { readonly name: string; readonly bytes: Buffer }[],
): Promise<void> {
  const transfer = await page.evaluateHandle(
    given => {
      const data = new DataTransfer()
      for (const { name, base64 } of given)
        data.items.add(new File([Uint8Array.from(atob(base64), c => c.charCodeAt(0))], name))
      return data
    },
    files.map(({ name, bytes }) => ({ name, base64: bytes.toString('base64') })),
  )
  for (const type of ['dragenter', 'dragover', 'drop'])
    await page.dispatchEvent(selector, type, { dataTransfer: transfer })
}
