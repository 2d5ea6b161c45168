import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { packageNames } from '../support/tree.ts'

/** `JOB_ITEMS=500 JOB_KILLS=10 npm test -- daemon long-job` */
const ITEMS = Number(process.env.JOB_ITEMS ?? 120)
const KILLS = Number(process.env.JOB_KILLS ?? 3)

interface Job {
  readonly job_id: string
  readonly kind: string
  readonly target: string
  readonly status: string
  readonly done_count: number
  readonly result: { readonly migrated: number; readonly unchanged: number; readonly errors: unknown[] } | null
}

describe('a job over many packages', () => {
  let daemon: Daemon
  let token: string

  const names = Array.from({ length: ITEMS }, (_, n) => `pack${n}`).sort()
  async function served(codename: string): Promise<string[]> {
    const { text } = await daemon.call('GET', `/repos/dists/${codename}/main/binary-amd64/Packages`)
    return packageNames(text)
  }
  /** Asks and does not wait: the request ends with the daemon. */
  function ask(to: string): void {
    daemon
      .call('POST', '/distributions/migrate', { token, body: { from_dist: 'jammy', to_dist: to } })
      .catch(() => undefined)
  }
  const newest = async (): Promise<Job> => {
    const { body } = await daemon.call<{ items: { job_id: string; kind: string }[] }>('GET', '/jobs?kind=migrate', {
      token,
    })
    return (await daemon.call<Job>('GET', `/jobs/${body.items[0]?.job_id ?? ''}`, { token })).body
  }

  beforeAll(async () => {
    daemon = await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600' } })
    token = await daemon.setupAdmin()
    for (const codename of ['jammy', 'noble', 'bookworm'])
      await daemon.call('POST', '/distributions/init', { token, body: { codename } })
    const waiting = [...names]
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
          const { body } = await daemon.upload(await buildDeb({ name, version: '1.0' }), { token })
          expect(body.status).toBe('published')
        }
      }),
    )
  })
  afterAll(() => daemon.close())

  test(`killed ${KILLS} times it comes to its end, and did nothing twice`, { timeout: 600_000 }, async () => {
    ask('noble')
    await vi.waitFor(async () => expect((await newest()).target).toBe('noble'), { timeout: 30_000, interval: 20 })
    for (let kill = 0; kill < KILLS; kill++) {
      await setTimeout(Math.random() * 400) // the moment is what is tried
      await daemon.kill9()
      await daemon.restart()
    }
    const job = await vi.waitFor(
      async () => {
        const now = await newest()
        expect(now.status).toBe('done')
        return now
      },
      { timeout: 300_000, interval: 300 },
    )
    expect(job.result).toMatchObject({ errors: [] })
    expect((job.result?.migrated ?? 0) + (job.result?.unchanged ?? 0)).toBe(ITEMS)
    await vi.waitFor(async () => expect(await served('noble')).toEqual(names), { timeout: 60_000, interval: 300 })
    const { body } = await daemon.call<{ items: { package: string; distribution?: string }[]; total: number }>(
      'GET',
      '/artifacts/audit/logs?action=PROMOTE&per_page=500',
      { token },
    )
    // one line for each package: the work of a run that was killed is not done again
    expect(
      body.items
        .map(line => line.package)
        .filter(name => name.startsWith('pack'))
        .sort(),
    ).toEqual(names)
  })

  test('cancelled, it stops where it is', async () => {
    ask('bookworm')
    const job = await vi.waitFor(
      async () => {
        const now = await newest()
        expect(now.target).toBe('bookworm')
        return now
      },
      { timeout: 30_000, interval: 5 },
    )
    const asked = performance.now()
    await daemon.call('POST', `/jobs/${job.job_id}/cancel`, { token })
    const ended = await vi.waitFor(
      async () => {
        const now = await newest()
        expect(['cancelled', 'done']).toContain(now.status)
        return now
      },
      { timeout: 60_000, interval: 20 },
    )
    process.stdout.write(`cancel: ${ended.status} after ${Math.round(performance.now() - asked)} ms\n`)
    expect((await served('bookworm')).length).toBeLessThanOrEqual(ITEMS)
  })
})
