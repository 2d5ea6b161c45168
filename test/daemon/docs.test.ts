import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
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
const [readme = '', operations = '', reference = ''] = ['README.md', 'docs/operations.md', 'docs/reference.md'].map(
  name => documents.get(name),
)
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

  test('begins with a map that is read in one sitting, and whose links lead somewhere', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(150)
    for (const [name, text] of documents) {
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)/g))
        expect(existsSync(join(ROOT, dirname(name), target)), `${name} → ${target}`).toBe(true)
    }
  })

  test('names every command of package.json, and none that is not there', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = new Set([...all.matchAll(/(?:^|`)npm (?:run )?([a-z][a-z:-]*)/gm)].map(([, name = '']) => name))
    expect([...named].filter(name => scripts[name] === undefined && name !== 'install')).toEqual([]) // npm's own
    expect(Object.keys(scripts).filter(name => !named.has(name) && name !== 'vitest')).toEqual([])
  })

  test('draws no file that is not there', () => {
    const drawn = [...all.matchAll(/`((?:server|ui|scripts|test|docs|\.ci)\/[A-Za-z0-9_./-]*)`/g)].map(
      ([, path = '']) => path,
    )
    expect(drawn.length).toBeGreaterThan(10)
    expect(drawn.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
  })
})
