import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { _electron } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { bundleDesktop } from '../../electron/pack/bundle.ts'
import { findElectron } from '../../electron/pack/start.ts'

const electron = findElectron()
const reason =
  electron === undefined
    ? "Electron's program is not here; ELECTRON_OVERRIDE_DIST_PATH names a folder with it"
    : process.env.DISPLAY === undefined
      ? 'there is no display; xvfb-run gives one'
      : undefined

describe.skipIf(reason !== undefined)(`the real program (${reason ?? 'runs'})`, () => {
  test('shows the list of appliances, without Node and without network', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gh-electron-'))
    await bundleDesktop(join(folder, 'app'))
    const program = await _electron.launch({
      executablePath: electron ?? '',
      args: [
        join(folder, 'app'),
        `--user-data-dir=${join(folder, 'data')}`,
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ],
    })
    try {
      const page = await program.firstWindow()
      await page.getByRole('heading', { name: 'Appliances' }).waitFor()
      expect(page.url()).toBe('app://home/')
      expect(
        await page.evaluate(() =>
          ['require', 'process', 'gatehouse'].map(name => typeof (window as unknown as Record<string, unknown>)[name]),
        ),
      ).toEqual(['undefined', 'undefined', 'object'])
      expect(
        await page.evaluate(() =>
          fetch('https://127.0.0.1:1/').then(
            () => 'sent',
            () => 'refused',
          ),
        ),
      ).toBe('refused')
    } finally {
      await program.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
