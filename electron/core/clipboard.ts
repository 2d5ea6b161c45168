import type { Clock, Shell } from './ports.ts'

/** How long a token or a recovery code stays on the clipboard. */
export const SECRET_MS = 30_000

/** Copies text; a secret leaves the clipboard again, unless something else was copied meanwhile. */
export function createClipboard(shell: Shell, clock: Clock): (text: string, isSecret: boolean) => void {
  return (text, isSecret) => {
    shell.copy(text)
    if (!isSecret) return
    clock.after(SECRET_MS, () => {
      void shell.copied().then(now => {
        if (now === text) shell.copy('')
      })
    })
  }
}
