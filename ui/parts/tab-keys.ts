/**
 * The keys of a tab list, on its element: arrows go round, Home and End to its ends. What is chosen has the focus.
 * Source: ARIA Authoring Practices, tabs, with automatic activation.
 */
export function tabByKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')]
  const at = tabs.findIndex(tab => tab.getAttribute('aria-selected') === 'true')
  const places: Readonly<Record<string, number>> = {
    ArrowRight: (at + 1) % tabs.length,
    ArrowLeft: at < 1 ? tabs.length - 1 : at - 1,
    Home: 0,
    End: tabs.length - 1,
  }
  const to = tabs[places[event.key] ?? -1]
  if (to === undefined) return
  event.preventDefault()
  to.focus()
  to.click()
}
