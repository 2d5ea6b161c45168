import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { malformedDebs } from '../support/malformed-deb.ts'
import { oddDebs } from '../support/odd-deb.ts'
import { malformedRpms } from '../support/malformed-rpm.ts'
import { oddRpms } from '../support/odd-rpm.ts'
import { readServedTree } from '../support/tree.ts'

interface Suite {
  readonly format: string
  readonly distribution: string
  readonly malformed: readonly { readonly name: string; readonly bytes: Buffer; readonly why: RegExp }[]
  readonly odd: readonly { readonly name: string; readonly bytes: Buffer }[]
  /** True for what does not even look like a package: it is refused by its first bytes, before anything reads it. */
  isUnlike(why: RegExp, bytes: Buffer): boolean
  /** What is wrong with the tree that is served. */
  problems(daemon: Daemon): Promise<readonly string[]>
}

const SUITES: readonly Suite[] = [
  {
    format: 'deb',
    distribution: 'jammy',
    malformed: await malformedDebs(),
    odd: await oddDebs(),
    isUnlike: why => /does not begin with|debian-binary/.test(why.source),
    problems: async daemon => (await readServedTree(daemon.url, 'jammy')).problems,
  },
  {
    format: 'rpm',
    distribution: 'fedora',
    malformed: await malformedRpms(),
    odd: await oddRpms(),
    isUnlike: (_why, bytes) => bytes.toString('hex', 0, 4) !== 'edabeedb',
    problems: async daemon => {
      const { status } = await fetch(`${daemon.url}/repos/fedora/x86_64/repodata/repomd.xml`)
      return status === 200 ? [] : [`repomd.xml answers ${status}`]
    },
  },
]

describe.each(SUITES)(
  'malformed packages over HTTP: $format',
  ({ format, distribution, malformed, odd, isUnlike, problems }) => {
    const filename = `odd.${format}`
    let daemon: Daemon
    let token: string
    beforeAll(async () => {
      daemon = await startDaemon()
      token = await daemon.setupAdmin()
      await daemon.call('POST', '/distributions/init', { token, body: { codename: distribution } })
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

    test.for(malformed.map(({ name }, index) => [name, index] as const))(
      '%s is refused with its reason, and nothing of it is kept',
      async ([, index]) => {
        const { bytes, why } = malformed[index] ?? { bytes: Buffer.alloc(0), why: /$^/ }
        const answer = await daemon.upload(bytes, { token, filename, distribution })
        expect(answer, answer.text).toMatchObject({ status: 422, body: { detail: expect.any(Array) as unknown[] } })
        const [{ msg = '' } = {}] = answer.body.detail as { msg?: string }[]
        expect(msg).toMatch(isUnlike(why, bytes) ? /does not begin with|debian-binary|is no package/ : why)
        expect(msg).not.toMatch(/gh-daemon|node_modules|\.ts:\d|\n\s+at /)
        expect(await filesIn('incoming', 'pool', 'quarantine', 'manifests')).toEqual([])
      },
    )

    test.for(odd.map(({ name }, index) => [name, index] as const))(
      '%s is unusual and valid: it is taken',
      async ([, index]) => {
        const answer = await daemon.upload(odd[index]?.bytes ?? Buffer.alloc(0), { token, filename, distribution })
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
      expect(await problems(daemon)).toEqual([])
      expect(daemon.log()).not.toMatch(/Internal server error|UnhandledRejection|TypeError/)
    })
  },
)
