/**
 * Puts text on the clipboard; false when the browser refuses.
 * The clipboard API needs https or localhost, and an appliance in a plant is often reached over http: then a selection
 * is copied.
 */
export async function copyText(text: string): Promise<boolean> {
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
