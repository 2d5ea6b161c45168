import { desktopHost, type Connection } from './host.ts'

let list = $state.raw<readonly Connection[]>([])

/** The appliances of the desktop program, as they stand now; none in a browser. */
export function appliances(): readonly Connection[] {
  return list
}

/** Follows them while a component is there. Call it while the component is set up. */
export function followAppliances(): void {
  const desktop = desktopHost()
  if (desktop === undefined) return
  $effect(() => {
    let isNewer = false
    const stop = desktop.on('connections.moved', now => {
      isNewer = true
      list = now
    })
    void desktop.ask('connections.list', {}).then(now => {
      if (!isNewer) list = now
    })
    return stop
  })
}

/** Ctrl-1 to Ctrl-9 open an appliance in the order of the list, Ctrl-0 the list. @returns whether it was such a key */
export function onApplianceKey(event: KeyboardEvent): boolean {
  const desktop = desktopHost()
  if (desktop === undefined || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return false
  if (event.key === '0') {
    event.preventDefault()
    void desktop.ask('connections.home', {})
    return true
  }
  const one = /^[1-9]$/.test(event.key) ? list[Number(event.key) - 1] : undefined
  if (one === undefined) return false
  event.preventDefault()
  void desktop.ask('connections.open', { id: one.id })
  return true
}
