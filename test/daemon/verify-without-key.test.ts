import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { buildNpm } from '../support/packages-npm.ts'
import { run } from '../support/tools.ts'

let daemon: Daemon
beforeAll(async () => {
  daemon = await startDaemon()
})
afterAll(() => daemon.close())

/** The last line of `npm run verify`, and its exit code. */
async function verify(): Promise<string> {
  const env = { ...process.env, REPOS_ROOT: daemon.root }
  const { code, out, err } = await run(process.execPath, ['server/cli/verify.ts'], { env })
  return `${code} ${out.trim()} ${err.trim()}`.trim()
}
const fine = (packages: number) =>
  expect.stringMatching(new RegExp(`^0 verified: ${packages} packages, .*no difference`)) as string

test('an installation without a signing key is verified: empty, with registries, with what waits for a key, and stopped', async () => {
  expect(await verify()).toEqual(fine(0))
  const token = await daemon.setupAdmin()
  expect(await verify()).toEqual(fine(0))
  const made = await daemon.call('POST', '/registries/', { token, body: { name: 'js', format: 'npm' } })
  expect(made.status, made.text).toBe(201)
  const tarball = buildNpm({ name: 'pad', version: '1.0.0' })
  const served = await daemon.upload(tarball, { token, distribution: 'js', filename: 'pad-1.0.0.tgz' })
  expect(served.status, served.text).toBe(201)
  expect(await verify()).toEqual(fine(1))
  // nothing signs it
  const waits = await daemon.upload(await buildDeb({ name: 'hello', version: '1.0' }), { token })
  expect(waits.body, waits.text).toMatchObject({ status: 'pending_review' })
  expect(await verify()).toEqual(fine(2))
  await daemon.stop()
  expect(await verify()).toEqual(fine(2))
  await daemon.restart()
})
