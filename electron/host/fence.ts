import { dialog, type Session, type WebContents } from 'electron'
import type { Desktop } from '../core/desktop.ts'
import { placeOf, SCHEME } from '../core/pages.ts'

/** What a page may load: the program's own files, and what it made itself. */
const OWN_SCHEMES = [`${SCHEME}:`, 'blob:', 'data:', 'devtools:']

/** The page has no network of its own, no device, no permission. It reaches an appliance through the program alone. */
export function fenceSession(session: Session): void {
  session.setPermissionRequestHandler((_contents, _permission, answer) => answer(false))
  session.setPermissionCheckHandler(() => false)
  session.setDevicePermissionHandler(() => false)
  // -2 fails the connection; the verification that counts is that of Node, in the pinned client
  session.setCertificateVerifyProc((_request, answer) => answer(-2))
  session.webRequest.onBeforeRequest((details, answer) => {
    const isOwn = URL.canParse(details.url) && OWN_SCHEMES.includes(new URL(details.url).protocol)
    answer({ cancel: !isOwn })
  })
  session.setSpellCheckerEnabled(false)
}

const isSamePage = (url: string, shown: string): boolean => {
  const [to, from] = [placeOf(url), placeOf(shown)]
  return to !== undefined && JSON.stringify(to) === JSON.stringify(from) && new URL(url).pathname === '/'
}

/** Whether to leave a page that is sending a file which only it can read. */
function mayLeave(): boolean {
  const answer = dialog.showMessageBoxSync({
    type: 'question',
    message: 'A file is still being sent. Leave this page?',
    detail: 'It is read by the page itself, so sending it stops.',
    buttons: ['Stay', 'Leave'],
    defaultId: 0,
    cancelId: 0,
  })
  return answer === 1
}

/** Keeps a page where it is: links lead to the system's browser or nowhere, and no second window opens. */
export function fenceContents(contents: WebContents, desktop: () => Desktop | undefined): void {
  contents.on('will-attach-webview', event => event.preventDefault())
  contents.on('will-navigate', event => {
    if (isSamePage(event.url, contents.getURL())) return
    event.preventDefault()
    desktop()?.openOutside(event.url)
  })
  contents.on('will-frame-navigate', event => {
    if (!event.isMainFrame) event.preventDefault()
  })
  contents.on('will-redirect', event => event.preventDefault())
  contents.setWindowOpenHandler(({ url }) => {
    desktop()?.openOutside(url)
    return { action: 'deny' }
  })
  contents.on('will-prevent-unload', event => {
    if (mayLeave()) event.preventDefault()
  })
}
