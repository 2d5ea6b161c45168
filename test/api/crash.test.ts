import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FAILPOINTS } from '../../server/lib/failpoint.ts'
import { hasClamd, startClamd, type TestClamd } from '../support/clamd.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, EICAR } from '../support/packages.ts'
import { run } from '../support/tools.ts'
import { readServedTree, type Stanza } from '../support/tree.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 12)
const LANES = 30
const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')

interface PackageItem {
  readonly name: string
  readonly version: string
  readonly sha256: string
  readonly status: string
}
interface PackagePage {
  readonly total: number
  readonly pages: number
  readonly items: readonly PackageItem[]
}

/** What clients were told, over all crashes. */
interface Told {
  readonly served: Map<string, string>
  readonly deleted: Set<string>
  readonly infected: Set<string>
  names: number
}

describe('kill -9', () => {
  let daemon: Daemon
  let clamd: TestClamd | undefined
  let token: string
  const told: Told = { served: new Map(), deleted: new Set(), infected: new Set(), names: 0 }

  beforeAll(async () => {
    if (hasClamd) clamd = await startClamd()
    daemon = await startDaemon({
      env: {
        LOG_LEVEL: 'error',
        JWT_EXPIRE_MINUTES: '600',
        ...(clamd === undefined ? {} : { CLAMD_SOCKET: clamd.address.socket }),
      },
    })
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  })
  afterAll(async () => {
    process.stdout.write(
      `${told.names} uploads begun; ${told.served.size} acknowledged and served, ${told.deleted.size} deleted, ${told.infected.size} infected and never served\n`,
    )
    await daemon.close()
    await clamd?.close()
  })

  /**
   * Uploads one package after another until the daemon is gone; every seventh is infected, every fifth is deleted
   * again.
   */
  async function hammer(): Promise<void> {
    for (;;) {
      const number = told.names++
      const name = `crash-${number}`
      const isInfected = clamd !== undefined && number % 7 === 3
      if (isInfected) told.infected.add(name)
      const content = await buildDeb({ name, version: '1', files: { 'usr/bin/x': isInfected ? EICAR : name } })
      const answer = await daemon.upload(content, { token }).catch(() => undefined)
      if (answer === undefined) return
      if (isInfected) {
        expect(answer, answer.text).toMatchObject({ status: 200, body: { status: 'quarantined' } })
        continue
      }
      expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
      // `indexed: false` is the honest answer of one that is not in the index yet
      if (answer.body.indexed !== false) told.served.set(name, answer.body.sha256)
      if (number % 5 !== 0) continue
      told.served.delete(name) // from here on until the answer, either is right
      const gone = await daemon.call('DELETE', `/artifacts/${name}/1`, { token }).catch(() => undefined)
      if (gone === undefined) return
      expect(gone, gone.text).toMatchObject({ status: 200, body: { published: true } })
      told.deleted.add(name)
    }
  }

  async function publishedRows(): Promise<Map<string, string>> {
    const rows = new Map<string, string>()
    for (let page = 1, pages = 1; page <= pages; page++) {
      const { body, text, status } = await daemon.call<PackagePage>(
        'GET',
        `/packages/?distribution=jammy&state=published&per_page=200&page=${page}`,
        { token },
      )
      expect(status, text).toBe(200)
      pages = body.pages
      for (const { name, sha256 } of body.items) rows.set(name, sha256)
    }
    return rows
  }

  /** The invariants, asked from outside right after a start. */
  async function proveWhole(): Promise<void> {
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([]) // I7
    const { packages, problems } = await readServedTree(daemon.url, 'jammy')
    expect(problems).toEqual([]) // I1
    const served = new Map(packages.map(({ Package = '', SHA256 = '' }: Stanza) => [Package, SHA256]))
    expect(served.size).toBe(packages.length)
    expect([...told.served].filter(([name, digest]) => served.get(name) !== digest)).toEqual([])
    expect([...told.deleted, ...told.infected].filter(name => served.has(name))).toEqual([])
    expect(served).toEqual(await publishedRows()) // I3, I4
    const { body: chain } = await daemon.call('GET', '/artifacts/audit/integrity', { token })
    expect(chain).toMatchObject({ ok: true })
    const { body: health } = await daemon.call('GET', '/health')
    expect(health).toMatchObject({ status: expect.stringMatching(/healthy|degraded/) as string })
  }

  async function killWhileBusy(kill: () => Promise<void>): Promise<void> {
    const lanes = Promise.all(Array.from({ length: LANES }, hammer))
    await kill()
    await lanes
  }

  describe.each(FAILPOINTS)('at %s', point => {
    test.each([1, 4])('visit %i', async visit => {
      const before = told.names
      await daemon.stop()
      await daemon.restart({ GATEHOUSE_FAILPOINT: `${point}#${visit}` })
      await killWhileBusy(() => daemon.ended())
      expect(told.names).toBeGreaterThan(before)
      await daemon.restart()
      await proveWhole()
    })
  })

  test(
    `${ROUNDS} times at a random moment, with ${LANES} uploads under way`,
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        await killWhileBusy(async () => {
          // not a wait for something: the moment itself is what is random
          await new Promise(resolve => setTimeout(resolve, 20 + Math.random() * 1_500))
          await daemon.kill9()
        })
        await daemon.restart()
        await proveWhole()
      }
      expect(told.served.size).toBeGreaterThan(ROUNDS)
    },
    60_000 + ROUNDS * 30_000,
  )

  test('every change has its line in the audit log, once', async () => {
    for (const name of [...told.served.keys()].slice(-40)) {
      const { body } = await daemon.call<{ items: { action: string; package: string }[] }>(
        'GET',
        `/artifacts/audit/logs?package=${name}&action=UPLOAD`,
        { token },
      )
      expect(body.items.filter(entry => entry.package === name)).toHaveLength(1) // I6
    }
  })

  test.skipIf(!existsSync(VERIFY))('and the verifier finds pool, database and trees in agreement', async () => {
    const { out, err } = await run(process.execPath, [VERIFY, '--json'], {
      env: {
        REPOS_ROOT: daemon.root,
        ENV: 'test',
        ...(daemon.databaseUrl === undefined ? {} : { DATABASE_URL: daemon.databaseUrl }),
      },
    })
    const { differences } = JSON.parse(out || err) as { differences: { what: string }[] }
    expect(differences).toEqual([])
  })
})
