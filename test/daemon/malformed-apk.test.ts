import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readServedApks } from '../support/apk.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { malformedApks } from '../support/malformed-apk.ts'
import { oddApks } from '../support/odd-apk.ts'

const malformed = malformedApks()
const odd = await oddApks()

describe('malformed .apk files over HTTP', () => {
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    daemon = await startDaemon()
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'alpine3.20' } })
  })
  afterAll(() => daemon.close())

  /** Every file below a folder of the root; the folders themselves may be there. */
  async function filesIn(...folders: readonly string[]): Promise<string[]> {
    const found = await Promise.all(
      folders.map(folder =>
        readdir(join(daemon.root, folder), { recursive: true, withFileTypes: true }).catch(() => []),
      ),
    )
    return found
      .flat()
      .filter(entry => entry.isFile())
      .map(({ name }) => name)
  }
  const upload = (bytes: Buffer): ReturnType<Daemon['upload']> =>
    daemon.upload(bytes, { token, filename: 'odd.apk', distribution: 'alpine3.20' })

  test.for(malformed.map(({ name }, index) => [name, index] as const))(
    '%s is refused with its reason, and nothing of it is kept',
    async ([, index]) => {
      const { bytes, why } = malformed[index] ?? { bytes: Buffer.alloc(0), why: /$^/ }
      const answer = await upload(bytes)
      expect(answer, answer.text).toMatchObject({ status: 422, body: { detail: expect.any(Array) as unknown[] } })
      const [{ msg = '' } = {}] = answer.body.detail as { msg?: string }[]
      // what does not even look like a package is refused by its first bytes, before anything reads it
      if (!/is no package: it is neither/.test(msg)) expect(msg).toMatch(why)
      expect(msg).not.toMatch(/gh-daemon|node_modules|\.ts:\d|\n\s+at /)
      expect(await filesIn('incoming', 'pool', 'quarantine', 'manifests')).toEqual([])
    },
  )

  test.for(odd.map(({ name }, index) => [name, index] as const))(
    '%s is unusual and valid: it is taken',
    async ([, index]) => {
      const answer = await upload(odd[index]?.bytes ?? Buffer.alloc(0))
      expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
      // many of them are one version of one package
      const gone = await daemon.call(
        'DELETE',
        `/artifacts/${encodeURIComponent(answer.body.name)}/${encodeURIComponent(answer.body.version)}`,
        { token },
      )
      expect(gone, gone.text).toMatchObject({ status: 200 })
    },
  )

  test('after all of them the same process runs, its tree is intact, and no index names any of them', async () => {
    expect((await daemon.call('GET', '/health/live')).status).toBe(200)
    const { problems, packages } = await readServedApks(daemon.url, 'alpine3.20')
    expect({ problems, packages }).toEqual({ problems: [], packages: [] })
    expect(daemon.log()).not.toMatch(/Internal server error|UnhandledRejection|TypeError/)
  })
})
