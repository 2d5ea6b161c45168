import { ipcMain } from 'electron'
import { ADD_FILES, CHANNELS } from '../core/channels.ts'
import type { Envelope } from '../core/bridge.ts'
import type { Desktop } from '../core/desktop.ts'

/** Answers messages of the top frame of the one page; the address of that frame is the only thing trusted in them. */
export function answerPages(desktop: Desktop): void {
  for (const channel of [...CHANNELS, ADD_FILES])
    ipcMain.handle(channel, (event, ask: unknown): Promise<Envelope> => {
      const frame = event.senderFrame
      const isTop = frame !== null && frame.parent === null
      return desktop.message(channel, ask, isTop ? frame.url : '')
    })
}
