import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { expectShape, obj, s, some } from '../../support/shapes.ts'

let daemon: Daemon
let token: string
beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
})
afterAll(() => daemon.close())

/** Reads a stream as a client of this kind of service does: event by event, until `done|DONE`. */
async function stream(content: Buffer): Promise<{ status: number; events: [string, Record<string, unknown>][] }> {
  const form = new FormData()
  form.set('distribution', 'jammy')
  form.set('file', new Blob([new Uint8Array(content)]), 'a.deb')
  const answer = await daemon.call('POST', '/upload/stream', { token, form })
  const all = answer.text
    .split('\n\n')
    .filter(block => block !== '' && !block.startsWith(':'))
    .map(block => ({
      event: /^event: (.*)$/m.exec(block)?.[1],
      data: /^data: (.*)$/m.exec(block)?.[1] ?? '',
    }))
  expect(all.at(-1)).toEqual({ event: undefined, data: 'done|DONE' })
  return {
    status: answer.status,
    events: all
      .slice(0, -1)
      .map(({ event, data }) => [String(event), JSON.parse(data) as Record<string, unknown>] as const)
      .map(([event, data]) => [event, data]),
  }
}

const STEP = obj({ name: s, label: s, status: some('running', 'done', 'warn', 'error'), message: s, detail: s })

test('an upload streams named steps, then the result, then done', async () => {
  const { status, events } = await stream(
    await buildDeb({ name: 'told', version: '1', fields: { Depends: 'nowhere' } }),
  )
  expect(status).toBe(200)
  const steps = events.filter(([event]) => event === 'step').map(([, data]) => data)
  for (const step of steps) expectShape(step, STEP)
  expect(
    steps
      .filter(step => step['status'] !== 'running')
      .map(step => `${step['name'] as string} ${step['status'] as string}`),
  ).toEqual([
    'format done',
    'provenance done',
    expect.stringMatching(/^antivirus (done|warn)$/),
    'cve warn', // no vulnerability data is loaded: never done
    expect.stringMatching(/^gpg (done|warn)$/),
    'dependencies warn',
    'publish done',
  ])
  expect(steps.find(({ name, status: at }) => name === 'dependencies' && at === 'warn')).toMatchObject({
    label: 'Dependencies',
    detail: 'missing: nowhere',
  })
  expect(events.at(-1)).toMatchObject(['result', { name: 'told', version: '1', status: 'published' }])
})

test('a refusal inside the stream keeps status 200: the step fails, the error is named, and done is last', async () => {
  await stream(await buildDeb({ name: 'torn', version: '1', files: { a: 'one' } }))
  const { status, events } = await stream(await buildDeb({ name: 'torn', version: '1', files: { a: 'two' } }))
  expect(status).toBe(200)
  expect(events.at(-2)).toMatchObject(['step', { status: 'error' }])
  expect(events.at(-1)).toMatchObject(['error', { status: 409, code: 'duplicate_conflict' }])
})
