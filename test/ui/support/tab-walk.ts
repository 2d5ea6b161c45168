import type { Page } from 'playwright-core'

/** More stops than any screen has. */
const STOPS = 400

/**
 * Presses Tab from the first control until the focus leaves the page.
 * @returns the controls that were not reached or do not show the focus; radio buttons of one group are one stop
 */
export async function walkWithTab(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    const isSeen = (element: HTMLElement): boolean =>
      element.checkVisibility({ visibilityProperty: true, opacityProperty: false }) &&
      element.closest('[inert]') === null
    const controls = [
      ...document.querySelectorAll<HTMLElement>(
        'a[href], button:not([disabled]), input:not([disabled]):not([type="hidden"]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex]',
      ),
    ].filter(one => one.tabIndex >= 0 && isSeen(one))
    const met = new Set<Element>()
    let last: Element | null = null
    const group = (one: Element): unknown =>
      one instanceof HTMLInputElement && one.type === 'radio' ? `radio ${one.name}` : one
    const name = (one: Element): string =>
      `${one.tagName.toLowerCase()}.${one.className} “${(one.getAttribute('aria-label') ?? one.textContent).replace(/\s+/g, ' ').trim().slice(0, 40)}”`
    const showsFocus = (one: Element): boolean =>
      [one, one.closest('.opt, .seg > *'), one.closest('.search, .field, label')].some(
        part => part !== null && getComputedStyle(part).outlineStyle !== 'none',
      )
    Object.assign(globalThis, {
      walk: {
        stop: (): string | undefined => {
          const now = document.activeElement
          if (now === last) return undefined // the day, month and year of a date are stops of one control
          last = now
          if (now === null || now === document.body || met.has(now)) return 'end'
          met.add(now)
          return showsFocus(now) ? undefined : `${name(now)} does not show the focus`
        },
        left: (): string[] => {
          const groups = new Set([...met].map(group))
          return controls
            .filter(one => one.isConnected && isSeen(one) && !groups.has(group(one)))
            .map(one => `${name(one)} is not reached with Tab`)
        },
      },
    })
    controls[0]?.focus({ focusVisible: true } as FocusOptions)
  })
  const ask = <Answer>(what: 'stop' | 'left'): Promise<Answer> =>
    page.evaluate(
      one => (globalThis as unknown as { walk: Record<string, () => unknown> }).walk[one]?.() as never,
      what,
    )
  const found: string[] = []
  for (let n = 0; ; n++) {
    if (n === STOPS) return [...found, `more than ${STOPS} stops`]
    const told = await ask<string | undefined>('stop')
    if (told === 'end') break
    if (told !== undefined) found.push(told)
    await page.keyboard.press('Tab')
  }
  return [...found, ...(await ask<string[]>('left'))]
}
