import type { Attachment } from 'svelte/attachments'

const NO_TEXT = ['checkbox', 'radio', 'file', 'range', 'search']

type Field = HTMLInputElement | HTMLTextAreaElement

/** Whether a dialog has text that somebody typed and nobody sent. */
export function createTyped(): { readonly is: () => boolean; readonly watch: Attachment<HTMLElement> } {
  /** What stood in a field when somebody first came to it. */
  const before = new Map<Field, string>()
  const come = (to: EventTarget | null): void => {
    if (!(to instanceof HTMLElement) || !(to.matches('input') || to.matches('textarea'))) return
    const field = to as Field // by its name
    if (!field.readOnly && !NO_TEXT.includes(field.type) && !before.has(field)) before.set(field, field.value)
  }
  return {
    is: () => [...before].some(([field, value]) => field.isConnected && field.value !== value && field.value !== ''),
    watch: box => {
      const hear = (event: Event): void => come(event.target)
      box.addEventListener('focusin', hear)
      if (box.contains(document.activeElement)) come(document.activeElement)
      return () => box.removeEventListener('focusin', hear)
    },
  }
}

/** What the browser tells of a step to another address. Source: HTML, the NavigateEvent interface */
interface Step extends Event {
  readonly navigationType: string
  /** By a link or the address field; not by a script. */
  readonly userInitiated?: boolean
  readonly destination?: { readonly url: string; readonly sameDocument: boolean }
}

/**
 * Stops steps to another address. `back` is called in place of Back and Forward: the browser lets a page do so once
 * after each key or click. `link` hears where a link, or an address that was typed, leads within the console, and says
 * whether it stops it. A browser without the Navigation API goes on.
 */
export function insteadOfLeaving({
  back,
  link,
}: {
  readonly back: () => void
  readonly link: (to: string) => boolean
}): () => void {
  const moves = (globalThis as { readonly navigation?: EventTarget }).navigation
  const hear = (event: Event): void => {
    if (!('navigationType' in event) || !event.cancelable) return
    const { navigationType, userInitiated = false, destination } = event as Step // by its name
    if (navigationType === 'traverse') {
      event.preventDefault()
      back()
    } else if (userInitiated && destination?.sameDocument === true && link(destination.url)) event.preventDefault()
  }
  moves?.addEventListener('navigate', hear)
  return () => moves?.removeEventListener('navigate', hear)
}
