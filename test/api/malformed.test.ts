import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { malformedDebs, oddDebs } from '../support/malformed-deb.ts'
import { readServedTree } from '../support/tree.ts'

const malformed = await malformedDebs()
const odd = await oddDebs()

describe('malformed packages over HTTP', () => {
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    daemon = await startDaemon()
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  })
  afterAll(() => daemon.close())

  /** Every file below a folder of the root; the folders themselves may be there. */
  async function filesIn(...folders: readonly string[]): Promise<string[]> {
    const found = await Promise.all(folders.map(folder => readdir(join(daemon.root, folder), { recursive: true, withFileTypes: true }).catch(() => [])))
    return found.flat().filter(entry => entry.isFile()).map(({ name }) => name)
  }

  test.for(malformed.map(({ name }, index) => [name, index] as const))('%s is refused with its reason, and nothing of it is kept', async ([, index]) => {
    const { bytes, why } = malformed[index] ?? { bytes: Buffer.alloc(0), why: /$^/ }
    const answer = await daemon.upload(bytes, { token, filename: 'odd.deb' })
    expect(answer, answer.text).toMatchObject({ status: 422, body: { detail: expect.any(Array) as unknown[] } })
    const [{ msg = '' } = {}] = answer.body.detail as { msg?: string }[]
    // what does not even look like a package is refused by its first bytes, before anything reads it
    expect(msg).toMatch(/does not begin with|debian-binary/.test(why.source) ? /does not begin with|debian-binary|is no package/ : why)
    expect(msg).not.toMatch(/gh-daemon|node_modules|\.ts:\d|\n\s+at /)
    expect(await filesIn('incoming', 'pool', 'quarantine', 'manifests')).toEqual([])
  })

  test.for(odd.map(({ name }, index) => [name, index] as const))('%s is unusual and valid: it is taken', async ([, index]) => {
    const answer = await daemon.upload(odd[index]?.bytes ?? Buffer.alloc(0), { token, filename: 'odd.deb' })
    expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
    // many of them are one version of one package
    const gone = await daemon.call('DELETE', `/artifacts/${encodeURIComponent(answer.body.name)}/${encodeURIComponent(answer.body.version)}`, { token })
    expect(gone, gone.text).toMatchObject({ status: 200 })
  })

  test('after all of them the daemon is the same process, serves a whole tree, and names none of them', async () => {
    expect((await daemon.call('GET', '/health/live')).status).toBe(200)
    const { problems } = await readServedTree(daemon.url, 'jammy')
    expect(problems).toEqual([])
    expect(daemon.log()).not.toMatch(/Internal server error|UnhandledRejection|TypeError/)
  })
})
