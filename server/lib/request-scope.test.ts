import { expect, test } from 'vitest'
import { createLog } from './log.ts'
import { inRequest } from './request-scope.ts'

test('lines of a request carry its id, also later and in what it started, unless they name another', async () => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => lines.push(JSON.parse(line) as Record<string, unknown>) }).of('review')
  await inRequest('r1', async () => {
    await new Promise(setImmediate)
    log.info('mine')
    log.info({ request_id: 'r2' }, 'of another')
  })
  log.info('of nobody')
  expect(lines.map(({ msg, request_id, component }) => [msg, request_id, component])).toEqual([
    ['mine', 'r1', 'review'],
    ['of another', 'r2', 'review'],
    ['of nobody', undefined, 'review'],
  ])
})
