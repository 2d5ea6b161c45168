import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { mustRun } from '../support/tools.ts'
import { readServedTree } from '../support/tree.ts'

const BUILD = join(import.meta.dirname, '..', '..', 'scripts', 'build.ts')

describe('the bundle', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-bundle-'))
    await mustRun(process.execPath, [BUILD, join(folder, 'built'), 'server'])
    // elsewhere, so that nothing of the checkout can be found by accident
    await cp(join(folder, 'built'), join(folder, 'moved'), { recursive: true, verbatimSymlinks: true })
    await rm(join(folder, 'built'), { recursive: true })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('starts from a folder of its own, publishes a package of every compression, and ends well', async () => {
    expect(await readdir(join(folder, 'moved'))).toEqual(['node_modules', 'package.json', 'server'])
    const daemon = await startDaemon({ entry: join(folder, 'moved', 'server', 'main.mjs') })
    try {
      expect((await daemon.call('GET', '/health/live')).status).toBe(200)
      const token = await daemon.setupAdmin()
      await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
      for (const compression of ['gz', 'xz', 'zst', 'none'] as const) {
        const answer = await daemon.upload(
          await buildDeb({ name: `packed-${compression}`, version: '1', compression }),
          { token },
        )
        expect(answer, answer.text).toMatchObject({ status: 201 })
      }
      const { packages, problems } = await readServedTree(daemon.url, 'jammy')
      expect({ problems, count: packages.length }).toEqual({ problems: [], count: 4 })
      expect(await daemon.stop()).toBe(0)
      expect(daemon.log()).not.toMatch(/Error|Warning/)
    } finally {
      await daemon.close()
    }
  })
})
