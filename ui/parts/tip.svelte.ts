import type { Attachment } from 'svelte/attachments'

/** The one tooltip of the window; `Tip.svelte` draws it. */
export const shown = $state<{ text: string; x: number; y: number; below: boolean }>({
  text: '',
  x: 0,
  y: 0,
  below: true,
})

let owner: HTMLElement | undefined

/** Shows `text` while the pointer is over the element or the keyboard is on it. An empty text shows nothing. */
export function tip(text: string | undefined): Attachment<HTMLElement> {
  return element => {
    if (text === undefined || text === '') return
    const show = (): void => {
      const box = element.getBoundingClientRect()
      owner = element
      const below = box.bottom + 60 < innerHeight
      Object.assign(shown, {
        text,
        x: Math.min(Math.max(box.left + box.width / 2, 130), innerWidth - 130),
        y: below ? box.bottom + 6 : box.top - 6,
        below,
      })
    }
    const hide = (): void => {
      if (owner !== element) return
      owner = undefined
      shown.text = ''
    }
    // an element that is being removed loses the focus while the page is drawn, when nothing may change
    const leave = (): void => queueMicrotask(hide)
    const focus = (): void => {
      if (element.matches(':focus-visible')) show()
    }
    const listeners = { pointerenter: show, pointerleave: hide, focusin: focus, focusout: leave, click: hide }
    for (const [name, listener] of Object.entries(listeners)) element.addEventListener(name, listener)
    return () => {
      hide()
      for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener)
    }
  }
}
