import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readFile } from 'node:fs/promises'
import type { ManyPreview } from '../../server/review/bulk/preview.ts'
import type { ManyResult } from '../../server/review/bulk/work.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { readServedTree } from '../support/tree.ts'

/** `MANY=2000 DECIDED=500 npm test -- daemon review-many` prints how long it takes. */
const MANY = Number(process.env.MANY ?? 230)
const DECIDED = Number(process.env.DECIDED ?? MANY)

const TICKS = 100 // a second has so many on Linux

interface Job {
  readonly status: string
  readonly done_count: number
  readonly started_at: string
  readonly finished_at: string
  readonly result: ManyResult | null
}

describe('a decision about many packages', () => {
  let it: Daemon
  let token: string
  const call = <Body = Record<string, unknown>>(method: string, path: string, body?: object) =>
    it.call<Body>(method, path, { token, ...(body === undefined ? {} : { body }) })
  const preview = async (filter: object = {}) =>
    (await call<ManyPreview>('POST', '/security/review-queue/preview', { decision: 'approve', filter })).body
  const waiting = async () => (await call<{ total: number }>('GET', '/security/review-queue?per_page=1')).body.total
  const send = (selection: string) =>
    call<{ job_id: string; begins_at: string }>('POST', '/security/review-queue/decide', {
      ...{ selection, decision: 'approve', justification: 'Looked at all of them.' },
    })
  async function ended(job: string): Promise<Job> {
    for (;;) {
      const { body } = await call<Job>('GET', `/jobs/${job}`)
      if (body.finished_at !== null) return body
      await new Promise(resolve => setTimeout(resolve, 100)) // the job has no other sign across a restart
    }
  }
  /** Seconds of processor time that the service has used. */
  async function cpu(): Promise<number> {
    const fields = (await readFile(`/proc/${it.pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS // utime and stime, proc(5)
  }

  beforeAll(async () => {
    it = await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600' } })
    token = await it.setupAdmin()
    for (const codename of ['jammy', 'noble']) await call('POST', '/distributions/init', { codename })
    const names = Array.from({ length: MANY }, (_, n) => `pack${n}`)
    // no engine looks at them here, so that all are held
    expect((await call('PATCH', '/settings/', { validation: { on_scanner_unavailable: 'hold' } })).status).toBe(200)
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let name = names.pop(); name !== undefined; name = names.pop()) {
          const distribution = names.length < DECIDED ? 'jammy' : 'noble'
          const { body } = await it.upload(await buildDeb({ name, version: '1.0' }), { token, distribution })
          expect(body.status).toBe('pending_review')
        }
      }),
    )
  }, 900_000)
  afterAll(() => it.close())

  test('taken back while it waits, nothing is decided', async () => {
    const { selection, decidable } = await preview()
    expect(decidable).toBe(MANY)
    const sent = await send(selection)
    expect(sent.status).toBe(202)
    const { job_id: job } = sent.body
    expect((await call('POST', `/jobs/${job}/cancel`)).body).toMatchObject({ cancelled: true })
    expect(await ended(job)).toMatchObject({ status: 'cancelled', done_count: 0 })
    expect(await waiting()).toBe(MANY)
  })

  test('killed in its midst it goes on, and decides on each once', { timeout: 600_000 }, async () => {
    const { selection } = await preview({ distribution: 'jammy' })
    const asked = await send(selection)
    const { job_id: job } = asked.body
    if (process.env.MANY === undefined) {
      await it.stop()
      // the first batch stands and its answer is lost; then a batch is lost before its commit
      for (const moment of ['review:after-batch', 'catalog:before-commit']) {
        await it.restart({ GATEHOUSE_FAILPOINT: moment })
        await it.ended()
      }
      await it.restart({ GATEHOUSE_FAILPOINT: undefined })
    }
    const before = await cpu()
    const { status, result, finished_at } = await ended(job)
    expect({ status, result }).toMatchObject({ status: 'done', result: { total: DECIDED, decided: DECIDED } })
    const took = (Date.parse(finished_at) - Date.parse(asked.body.begins_at)) / 1_000
    if (process.env.MANY !== undefined)
      console.info(`${DECIDED} of ${MANY}: ${took.toFixed(1)} s, ${((await cpu()) - before).toFixed(1)} s of processor`)
    const made = await call<{ total: number }>('GET', '/security/decisions?per_page=1')
    expect(made.body.total).toBe(DECIDED)
    const audited = await call<{ total: number }>('GET', '/artifacts/audit/logs?action=SECURITY_DECISION&per_page=1')
    expect(audited.body.total).toBe(DECIDED)
    const { packages, problems } = await readServedTree(it.url, 'jammy')
    expect(problems).toEqual([])
    expect(packages.length).toBe(DECIDED)
    expect(await waiting()).toBe(MANY - DECIDED)
  })
})
