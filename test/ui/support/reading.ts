import type { Page } from 'playwright-core'

/** Roles that mean nothing to a listener without a name. */
const NAMED =
  /^\s*- (button|link|textbox|searchbox|checkbox|radio|combobox|listbox|slider|switch|tab|menu|menuitem|dialog|alertdialog|img|region|form|table|grid|progressbar|meter)(?=:|$| \[)/

/** What is wrong for somebody who hears the page: the tree that the browser gives to a screen reader is read. */
export async function readingProblems(page: Page): Promise<string[]> {
  const lines = (await page.locator('body').ariaSnapshot()).split('\n')
  const nameless = lines.flatMap((line, at) =>
    NAMED.test(line)
      ? [
          `a nameless part: ${lines
            .slice(at, at + 3)
            .join(' / ')
            .trim()}`,
        ]
      : [],
  )
  const count = (role: RegExp): number => lines.filter(line => role.test(line)).length
  const titles = count(/^\s*- heading .*\[level=1\]/)
  const mains = count(/^\s*- main\b/)
  return [
    ...nameless,
    ...(titles === 1 ? [] : [`${titles} headings of the first level`]),
    ...(mains === 1 ? [] : [`${mains} main parts`]),
  ]
}
