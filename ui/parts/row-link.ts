import type { Attachment } from 'svelte/attachments'

const OWN = 'a, button, input, label, select, summary, [contenteditable]'

/**
 * Makes a whole table row follow its own link `a.main`: with the same keys held, so that a new tab stays a new tab.
 * What is inside and can be pressed keeps its own press, and text can be marked.
 */
export const rowLink: Attachment<HTMLElement> = row => {
  function follow(event: MouseEvent): void {
    if (event.button > 1 || !(event.target instanceof Element) || event.target.closest(OWN) !== null) return
    if (getSelection()?.isCollapsed === false) return
    const { ctrlKey, metaKey, shiftKey, button } = event
    const how = { bubbles: true, cancelable: true, ctrlKey: ctrlKey || button === 1, metaKey, shiftKey }
    row.querySelector('a.main')?.dispatchEvent(new MouseEvent('click', how))
  }
  row.classList.add('rowlinked')
  row.addEventListener('click', follow)
  row.addEventListener('auxclick', follow)
  return () => {
    row.removeEventListener('click', follow)
    row.removeEventListener('auxclick', follow)
  }
}
