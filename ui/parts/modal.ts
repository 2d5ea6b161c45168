import { tick } from 'svelte'
import type { Attachment } from 'svelte/attachments'

/**
 * Shows a `<dialog>` as a modal while it is mounted, and gives the focus back afterwards. Whether it closes is decided
 * by `onclose` alone.
 * @param first  where the focus begins; the first thing that takes it unless given
 */
export function modal(onclose: () => void, first?: string): Attachment<HTMLDialogElement> {
  return dialog => {
    const before = document.activeElement
    const cancel = (event: Event): void => {
      event.preventDefault()
      onclose()
    }
    // a second Esc closes it past `cancel`: one that shows something only once must then come back
    const closed = (): void => {
      onclose()
      void tick().then(() => {
        if (dialog.isConnected && !dialog.open) dialog.showModal()
      })
    }
    dialog.addEventListener('cancel', cancel)
    dialog.addEventListener('close', closed)
    dialog.showModal()
    if (first !== undefined) dialog.querySelector<HTMLElement>(first)?.focus()
    return () => {
      dialog.removeEventListener('cancel', cancel)
      dialog.removeEventListener('close', closed)
      if (before instanceof HTMLElement) before.focus()
    }
  }
}
