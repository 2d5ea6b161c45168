import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { walkChain, type Walked } from './audit-chain.ts'
import { NO_LINE } from './audit-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-chain-'))
  return () => rm(folder, { recursive: true, force: true })
})

/** Walks a log whose one line says that a backup was restored. */
async function walked(facts: object): Promise<Walked> {
  const path = join(folder, '2026-03-02.jsonl')
  const about = { timestamp: '2026-03-02T17:36:00.000Z', user: 'ada' }
  const told = { kind: 'backup.restored', backup: 'b', packages: 1, of: '2026-03-02T17:20:00.000Z', ...facts }
  await writeFile(path, `${JSON.stringify({ ...about, facts: told, prev: NO_LINE })}\n`)
  return walkChain([{ path, size: (await stat(path)).size }], undefined)
}

const CUT = { at: '2026-03-02T17:36:00.000Z', by: 'ada', of: '2026-03-02T17:20:00.000Z' }

test.each([
  [{ log: 'kept', aside: '.before_1' }, undefined],
  [{ log: 'taken', aside: '.before_1' }, undefined],
  [
    { log: 'replaced', aside: '.before_1' },
    { ...CUT, aside: '.before_1/audit' },
  ],
  [{}, CUT],
] as const)('a restore that replaced the log is named by its check: %j', async (facts, replaced) => {
  const report = await walked(facts)
  expect(report.ok).toBe(true)
  expect(report.replaced).toEqual(replaced)
})
