import { app, Menu, nativeImage, Tray, type MenuItemConstructorOptions } from 'electron'
import type { Command } from '../core/commands.ts'
import type { TrayPort } from '../core/ports.ts'
import { filled, type Words } from '../core/words.ts'

/** The menu: the appliances with their keys, and what every program has. */
export function showMenu(commands: readonly Command[], words: Words, hasDevTools: boolean): void {
  const appliances = commands.map(({ label, accelerator, run }) => ({
    label,
    click: run,
    ...(accelerator === undefined ? {} : { accelerator }),
  }))
  const template: MenuItemConstructorOptions[] = [
    ...(process.platform === 'darwin' ? [{ role: 'appMenu' } as const] : []),
    {
      label: words.appliances,
      submenu: [...appliances, { type: 'separator' }, { role: 'quit', label: words.quit }],
    },
    {
      label: words.edit,
      submenu: [
        { role: 'undo', label: words.undo },
        { role: 'redo', label: words.redo },
        { type: 'separator' },
        { role: 'cut', label: words.cut },
        { role: 'copy', label: words.copy },
        { role: 'paste', label: words.paste },
        { role: 'selectAll', label: words.select_all },
      ],
    },
    {
      label: words.view,
      submenu: [
        { role: 'reload', label: words.reload },
        { type: 'separator' },
        { role: 'resetZoom', label: words.actual_size },
        { role: 'zoomIn', label: words.larger },
        { role: 'zoomOut', label: words.smaller },
        { type: 'separator' },
        { role: 'togglefullscreen', label: words.full_screen },
        ...(hasDevTools ? [{ role: 'toggleDevTools' } as const] : []),
      ],
    },
    {
      label: words.window,
      submenu: [
        { role: 'minimize', label: words.minimize },
        { role: 'close', label: words.close },
      ],
    },
  ]
  Menu.setApplicationMenu(Menu.buildFromTemplate(template))
}

/** The tray, where there is one; the number also stands on the dock. It is never the only way. */
export function createTray(icon: string, open: () => void): TrayPort {
  let tray: Tray | undefined
  try {
    tray = new Tray(nativeImage.createFromPath(icon))
  } catch {
    tray = undefined // a desktop without a tray
  }
  tray?.on('click', open)
  return {
    show: ({ waiting, lines, words }) => {
      app.setBadgeCount(waiting)
      tray?.setToolTip(waiting === 0 ? 'Gatehouse' : `Gatehouse: ${filled(words.to_review, waiting)}`)
      if (process.platform === 'darwin') tray?.setTitle(waiting === 0 ? '' : String(waiting))
      tray?.setContextMenu(
        Menu.buildFromTemplate([
          { label: words.open, click: open },
          { type: 'separator' },
          ...lines.map(label => ({ label, enabled: false })),
          { type: 'separator' },
          { role: 'quit', label: words.quit },
        ]),
      )
    },
  }
}
