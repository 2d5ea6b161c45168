import { desktopHost } from '../host.ts'

/**
 * Puts text on the clipboard; false when the browser refuses.
 * The clipboard API needs https or localhost, and an appliance in a plant is often reached over http: then a selection
 * is copied. In the desktop program a secret leaves the clipboard again after half a minute.
 */
export async function copyText(text: string, kind: 'plain' | 'secret' = 'plain'): Promise<boolean> {
  const desktop = desktopHost()
  if (desktop !== undefined)
    return desktop.ask('clipboard.write', { text, is_secret: kind === 'secret' }).then(
      () => true,
      () => false,
    )
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      /* not allowed here: the old way may be */
    }
  }
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'sr'
  // inside an open dialog everything outside is inert and cannot be selected
  const host = document.querySelector('dialog[open]') ?? document.body
  const focused = document.activeElement
  host.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return copied
}
