import { copyText } from './parts/copy.ts'
import { toast } from './toasts.svelte.ts'

/** Puts text on the clipboard and says so, or what to do where the browser refuses. @param what  its name in words */
export async function copyAndTell(what: string, text: string): Promise<void> {
  if (await copyText(text)) toast('info', `${what} copied`)
  else toast('bad', 'The browser does not let this page copy', 'Select the text and press Ctrl C.')
}
