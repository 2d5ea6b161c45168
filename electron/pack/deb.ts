import { spawnSync } from 'node:child_process'
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
/** What Electron asks of a desktop. Source: its documentation, "Linux", and `ldd` of its program. */
const DEPENDS =
  'libgtk-3-0 | libgtk-3-0t64, libnss3, libasound2 | libasound2t64, libgbm1, libxss1, libsecret-1-0, xdg-utils'

const DESKTOP_ENTRY = `[Desktop Entry]
Type=Application
Name=Gatehouse
Comment=Console of Gatehouse
Exec=/opt/Gatehouse/gatehouse %U
Icon=gatehouse
Terminal=false
Categories=System;
StartupWMClass=Gatehouse
MimeType=x-scheme-handler/gatehouse;
`

// Chromium's sandbox needs its helper to be root's where user namespaces are switched off
const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  chown root:root /opt/Gatehouse/chrome-sandbox 2>/dev/null && chmod 4755 /opt/Gatehouse/chrome-sandbox || true
  update-desktop-database -q 2>/dev/null || true
fi
`

/** Makes a .deb of the unpacked program with dpkg-deb. @returns its path */
export async function packDesktopDeb(unpacked: string, app: string, out: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(app, 'package.json'), 'utf8')) as { version: string }
  const arch = ARCH[process.arch] ?? process.arch
  const root = join(out, 'deb')
  await rm(root, { recursive: true, force: true })
  const at = (...path: string[]): string => join(root, ...path)
  for (const folder of ['DEBIAN', 'opt', 'usr/bin', 'usr/share/applications', 'usr/share/icons/hicolor/512x512/apps'])
    await mkdir(at(folder), { recursive: true })
  await cp(unpacked, at('opt', 'Gatehouse'), { recursive: true, verbatimSymlinks: true })
  await symlink('/opt/Gatehouse/gatehouse', at('usr', 'bin', 'gatehouse'))
  await writeFile(at('usr', 'share', 'applications', 'gatehouse.desktop'), DESKTOP_ENTRY)
  await cp(join(app, 'icons', 'icon.png'), at('usr', 'share', 'icons', 'hicolor', '512x512', 'apps', 'gatehouse.png'))
  await writeFile(
    at('DEBIAN', 'control'),
    `Package: gatehouse-desktop\nVersion: ${version}\nArchitecture: ${arch}\nMaintainer: Gatehouse <desktop@gatehouse.example>\nDepends: ${DEPENDS}\nSection: admin\nPriority: optional\nDescription: Console of Gatehouse as a desktop program\n Several appliances in one window, each known by its fingerprint.\n`,
  )
  await writeFile(at('DEBIAN', 'postinst'), POSTINST, { mode: 0o755 })
  const path = join(out, `gatehouse-desktop_${version}_${arch}.deb`)
  const made = spawnSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', root, path], { encoding: 'utf8' })
  await rm(root, { recursive: true, force: true })
  if (made.status !== 0) throw new Error(`dpkg-deb: ${made.stderr.trim()}`)
  return path
}
