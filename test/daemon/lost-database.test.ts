import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeStockedRoot } from '../bench/stocked-root.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { readServedTree } from '../support/tree.ts'
import { run } from '../support/tools.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
/** More than one transaction of a rebuild. */
const PACKAGES = 1_200

let root: string
let daemon: Daemon
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-daemon-'))
  await makeStockedRoot(root, PACKAGES)
  daemon = await startDaemon({ root, env: { LOG_LEVEL: 'info', DATABASE_URL: undefined } })
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

const served = async (): Promise<number> => (await readServedTree(daemon.url, 'jammy')).packages.length

test('the port answers while the database is made again: clients get packages, others hear how far it is', async () => {
  expect(await served()).toBe(PACKAGES)
  await daemon.stop()
  await rename(join(root, '.pg'), join(root, 'lost'))
  const restarted = daemon.restart()
  const readiness = async () => (await daemon.call('GET', '/health/ready').catch(() => undefined))?.body
  await expect.poll(readiness, { interval: 5 }).toMatchObject({
    ready: false,
    failing: ['start'],
    starting: { doing: 'rebuilding the database from the manifests', of: PACKAGES },
  })
  const refused = await daemon.call('POST', '/auth/token', { body: { username: 'admin', password: 'x' } })
  expect(refused).toMatchObject({
    status: 503,
    body: { code: 'starting', detail: expect.stringMatching(/rebuilding the database from the manifests/) },
  })
  expect(refused.headers.get('retry-after')).toBe('5')
  expect(await served()).toBe(PACKAGES)
  await restarted
  expect(await readiness()).toMatchObject({ ready: true })
  expect(daemon.log()).toMatch(/"manifests":1200,"added":1200,.*rebuilt from the manifests/)
})

test('killed in the middle, the next start ends it, and names the manifest that it cannot read', async () => {
  await daemon.stop()
  await rm(join(root, '.pg'), { recursive: true })
  await writeFile(join(root, 'manifests', 'deb', 'jammy', 'torn.json'), '{')
  await expect(daemon.restart({ GATEHOUSE_FAILPOINT: 'rebuild:after-batch#2' })).rejects.toThrow('SIGKILL')
  await daemon.restart()
  expect(daemon.log()).toMatch(/"left_out":1,.*rebuilt from the manifests/)
  expect(daemon.log()).toContain('manifests/deb/jammy/torn.json')
  await rm(join(root, 'manifests', 'deb', 'jammy', 'torn.json'))
  const token = await daemon.setupAdmin()
  const { body } = await daemon.call<{ total: number }>('GET', '/artifacts/', { token })
  expect(body.total).toBe(PACKAGES)
  expect(await served()).toBe(PACKAGES)
  const { out } = await run(process.execPath, [VERIFY, '--json'], { env: { REPOS_ROOT: root, ENV: 'test' } })
  expect((JSON.parse(out) as { differences: unknown }).differences).toEqual([])
})
