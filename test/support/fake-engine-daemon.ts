import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../../server/compose/run.ts'
import type { Finding } from '../../server/core/findings.ts'
import { readEnv } from '../../server/env.ts'
import { EngineUnavailable, type VulnerabilityScanner } from '../../server/scanners/scanner.ts'

/** What the engine answers, by `name version`; `unavailable` names packages it does not answer for. */
export interface FakeAnswers {
  readonly findings: Readonly<Record<string, readonly Omit<Finding, 'package' | 'detected_by'>[]>>
  readonly unavailable?: readonly string[]
}

/** The real daemon with a fake vulnerability engine, whose findings are read from a file at each scan. */
const engine: VulnerabilityScanner = {
  id: 'fake',
  kind: 'vulnerability',
  status: async () => ({ id: 'fake', ok: true, version: '1', data_at: '2026-11-01T00:00:00.000Z' }),
  scan: async ({ identity }) => {
    const { findings, unavailable = [] } = JSON.parse(
      await readFile(process.env.FAKE_ANSWERS ?? '', 'utf8'),
    ) as FakeAnswers
    const key = `${identity.name} ${identity.version}`
    if (unavailable.includes(key)) throw new EngineUnavailable('fake', 'it was told so')
    return {
      coverage: 'covered',
      said: 'Looked up.',
      findings: (findings[key] ?? []).map(finding => ({ ...finding, package: identity.name, detected_by: ['fake'] })),
    }
  },
}

const service = await run(
  readEnv(process.env, process.cwd()),
  { uiFolder: join(import.meta.dirname, '..', '..', 'ui', 'dist'), engines: { vulnerability: [engine] } },
  error => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  },
)
process.stdout.write(`Gatehouse is ready at ${service.url}\n`)
process.once('SIGTERM', () => {
  void service.stop().then(() => process.exit(0))
})
