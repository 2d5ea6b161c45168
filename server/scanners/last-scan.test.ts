import { expect, test } from 'vitest'
import { rememberFailures } from './last-scan.ts'
import { EngineUnavailable, type ScanSubject, type VulnerabilityScanner } from './scanner.ts'

const signal = new AbortController().signal
// the engine looks at nothing of it
const subject = {} as ScanSubject

function engine() {
  const does: { fails: Error | undefined; version: string } = { fails: undefined, version: '1' }
  const scanner: VulnerabilityScanner = {
    id: 'grype',
    kind: 'vulnerability',
    status: async () => ({ id: 'grype', ok: true, version: does.version }),
    scan: async () => {
      if (does.fails !== undefined) throw does.fails
      return { coverage: 'covered', said: 'Looked up.', findings: [] }
    },
  }
  return { does, scanner: rememberFailures(scanner) }
}
const broken = new EngineUnavailable('grype', 'it was ended by SIGSEGV')
const silent = {
  id: 'grype',
  ok: false,
  version: '1',
  silence: 'no_answer',
  error: 'Its last scan failed: it was ended by SIGSEGV.',
}

test('an engine that names its version and fails at a scan does not answer, until a scan succeeds', async () => {
  const { does, scanner } = engine()
  expect(await scanner.status()).toMatchObject({ ok: true })
  does.fails = broken
  await expect(scanner.scan(subject, signal)).rejects.toBe(broken)
  expect(await scanner.status()).toEqual(silent)
  does.fails = undefined
  await scanner.scan(subject, signal)
  expect(await scanner.status()).toEqual({ id: 'grype', ok: true, version: '1' })
})

test('another version of it has a new chance', async () => {
  const { does, scanner } = engine()
  does.fails = broken
  await expect(scanner.scan(subject, signal)).rejects.toBe(broken)
  does.version = '2'
  expect(await scanner.status()).toEqual({ id: 'grype', ok: true, version: '2' })
})

test('a scan that was called off says nothing about the engine', async () => {
  const { does, scanner } = engine()
  does.fails = new Error('called off')
  await expect(scanner.scan(subject, signal)).rejects.toThrow('called off')
  expect(await scanner.status()).toMatchObject({ ok: true })
})
