import { contextBridge, ipcRenderer, webUtils } from 'electron'
import { ADD_FILES, CHANNELS, EVENTS } from './core/channels.ts'
import type { DesktopBridge, Envelope, FileToSend } from './core/bridge.ts'

const channels: ReadonlySet<string> = new Set(CHANNELS)
const events: ReadonlySet<string> = new Set(EVENTS)
const no: Envelope<never> = { ok: false, code: 'unknown_channel', message: 'The program does not answer that.' }

/** Paths are read here from files that a person chose or dropped: the page can name none. */
async function addFiles(files: readonly FileToSend[]): Promise<Envelope<{ readonly left: readonly number[] }>> {
  const found = files.map(({ file, format, form }) => ({ path: webUtils.getPathForFile(file), format, form }))
  const onDisk = found.filter(({ path }) => path !== '')
  const left = found.flatMap(({ path }, n) => (path === '' ? [n] : []))
  if (onDisk.length === 0) return { ok: true, value: { left } }
  const answer = (await ipcRenderer.invoke(ADD_FILES, { files: onDisk })) as Envelope
  return answer.ok ? { ok: true, value: { left } } : answer
}

const bridge: DesktopBridge = {
  invoke: (channel, ask) => (channels.has(channel) ? ipcRenderer.invoke(channel, ask) : Promise.resolve(no)),
  on: (event, listener) => {
    if (!events.has(event)) return () => undefined
    // the event object stays here: through it a page would reach the rest of Electron
    const hear = (_: unknown, value: Parameters<typeof listener>[0]): void => listener(value)
    ipcRenderer.on(event, hear)
    return () => {
      ipcRenderer.off(event, hear)
    }
  },
  addFiles,
}
contextBridge.exposeInMainWorld('gatehouse', bridge)
