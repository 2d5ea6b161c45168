import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { clipboard, dialog, Notification, shell } from 'electron'
import type { Clock, FileDialog, Log, Notify, Shell } from '../core/ports.ts'
import { redact } from '../core/redact.ts'

/** The ports that need one call of Electron or none. */
export const clock: Clock = {
  now: () => new Date(),
  every: (ms, run) => {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

export const systemShell: Shell = {
  openExternal: url => shell.openExternal(url),
  showInFolder: path => shell.showItemInFolder(path),
  copy: text => clipboard.writeText(text),
  copied: () => clipboard.readText(),
}

export const fileDialog: FileDialog = {
  save: async ({ name, title }) => {
    const { canceled, filePath } = await dialog.showSaveDialog({ title, defaultPath: name })
    return canceled || filePath === '' ? undefined : filePath
  },
}

export const systemNotify: Notify = {
  get isSupported() {
    return Notification.isSupported()
  },
  show: ({ title, body, opened }) => {
    const notification = new Notification({ title, body })
    notification.on('click', opened)
    notification.show()
  },
}

const LARGEST_LOG = 1_000_000

/** A log in one file, and the one before it. Nothing secret is in its lines. */
export function openLog(path: string): Log {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return {
    line: (level, text) => {
      try {
        if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LARGEST_LOG) renameSync(path, `${path}.1`)
        appendFileSync(path, `${new Date().toISOString()} ${level} ${redact(text)}\n`, { mode: 0o600 })
      } catch {
        /* a log that cannot be written stops nothing */
      }
    },
  }
}
