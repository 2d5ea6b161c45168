import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listSettings, withTables } from '../../scripts/readme-tables.ts'
import { ERRORS } from '../../server/core/errors.ts'
import { ENV_TABLE } from '../../server/env-table.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const documents = new Map<string, string>()
for (const name of [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...(await readdir(join(ROOT, 'docs'))).map(file => `docs/${file}`),
])
  documents.set(name, await readFile(join(ROOT, name), 'utf8'))
const [operations = '', reference = ''] = ['docs/operations.md', 'docs/reference.md'].map(name => documents.get(name))
const all = [...documents.values()].join('\n')
const missing = (names: readonly string[], text = reference): string[] =>
  names.filter(name => !text.includes(`\`${name}\``))

describe('the documentation', () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(() => daemon.close())

  test('has its tables as the code says: npm run readme', async () => {
    expect(await withTables(reference)).toBe(reference)
  })

  test('names every environment variable, setting and error code', () => {
    expect(
      missing([...ENV_TABLE.map(({ name }) => name), ...listSettings().map(({ key }) => key), ...Object.keys(ERRORS)]),
    ).toEqual([])
  })

  test('names every variable that the code reads', async () => {
    const sources = (await readdir(join(ROOT, 'server'), { recursive: true })).filter(
      name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
    )
    const read = (await Promise.all(sources.map(name => readFile(join(ROOT, 'server', name), 'utf8')))).flatMap(text =>
      [...text.matchAll(/process\.env\.([A-Z_]+)/g)].map(([, name = '']) => name),
    )
    expect(
      missing(
        read.filter(name => name !== 'PATH' && name !== 'GATEHOUSE_FAILPOINT'),
        all,
      ),
    ).toEqual([]) // the last one is the crash tests'
  })

  test('names every metric of a running daemon', async () => {
    const { text } = await daemon.call('GET', '/metrics')
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
    expect(names.length).toBeGreaterThan(8)
    expect(missing(names)).toEqual([])
  })

  test('names every job of a running daemon', async () => {
    const jobs = async (): Promise<string[]> => {
      const { body } = await daemon.call<{ checks: { non_critical: { scheduler: { jobs: { id: string }[] } } } }>(
        'GET',
        '/health',
      )
      return body.checks.non_critical.scheduler.jobs.map(({ id }) => id)
    }
    await expect.poll(async () => (await jobs()).length).toBeGreaterThan(0)
    expect(missing(await jobs(), operations)).toEqual([])
  })
})
