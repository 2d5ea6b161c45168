import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import type { Sha256 } from '../core/identity.ts'
import { openClient } from '../db/db.ts'
import { createLayout, type Layout } from '../files/layout.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { createAudit } from '../record/audit.ts'
import { withCut, type Cut } from './cut.ts'

let source: TestDb
let layout: Layout
beforeAll(async () => {
  source = await createTestDb()
})
afterAll(() => source.close())
beforeEach(async () => {
  const root = await mkdtemp(join(tmpdir(), 'gh-cut-'))
  layout = createLayout(root, () => 'apt')
  return () => rm(root, { recursive: true, force: true })
})

const cutNow = <T>(work: (cut: Cut) => Promise<T>): Promise<T> =>
  withCut(
    {
      layout,
      clock,
      version: '1.0',
      isEnterprise: () => true,
      open: () => openClient(source.address, { queryTimeoutMs: Infinity }),
      signer: () => Promise.resolve(undefined),
    },
    { hasSecrets: false, taken: [], signal: new AbortController().signal },
    work,
  )
async function lay(...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(join(layout.root, dirname(path)), { recursive: true })
    await writeFile(join(layout.root, path), path)
  }
}

describe('a cut', () => {
  test('has nothing of what is being written, fetched or built', async () => {
    const lasting = [
      'audit/2026-03-01.jsonl',
      'documents/jammy/comps.xml',
      'manifests/deb/jammy/hello/1.0_amd64.json',
      'security/collected/files/all.zip',
      'security/vulndb/7/meta.json',
      'settings.json',
    ]
    await lay(
      ...lasting,
      `audit/.after-${'0'.repeat(64)}`,
      'audit/.claim-0e66efc7-d3d0-411f-a847-9015f21d2eee',
      'manifests/deb/jammy/hello/.1.1_amd64.json.0123456789ab.tmp',
      'security/clamav/medium-x/daily.cvd',
      'security/collected/feeds/1/all.zip',
      'security/feeds/1/all.zip',
      'security/vulndb/8.part/meta.json',
      'security/vulndb/import.lock',
      'security/waiting/bundle',
    )
    const paths = await cutNow(({ paths: all }) => Promise.resolve(all))
    expect(paths.filter(path => path !== 'about.json' && !path.startsWith('database/'))).toEqual(lasting)
  })

  test('while lines are written to the audit log: it has each, in the log or as one that is owed', async () => {
    const outbox = { owe: async () => 1, nudge: () => undefined }
    const audit = createAudit({ db: source.db, layout, clock, outbox })
    let said = 0
    let isOver = false
    const writing = (async () => {
      while (!isOver) {
        const facts = { kind: 'signatures.refused', why: String(said++) } as const
        await audit.record({ action: 'UPLOAD', result: 'FAILURE', user: 'ada', facts })
        await audit.deliver()
      }
    })()
    try {
      for (let n = 0; n < 10; n++)
        await cutNow(async ({ folder }) => {
          const days = await readdir(join(folder, 'audit')).catch(() => [])
          const log = (await Promise.all(days.map(day => readFile(join(folder, 'audit', day), 'utf8')))).join('')
          const rows = zstdDecompressSync(await readFile(join(folder, 'database', 'audit_pending.copy.zst'))).toString()
          const numbers = [...`${log}${rows}`.matchAll(/"why": ?"(\d+)"/g)].map(([, number]) => Number(number))
          expect(log === '' || log.endsWith('\n')).toBe(true)
          expect(numbers).toEqual(numbers.map((_, number) => number))
        })
    } finally {
      isOver = true
      await writing
    }
  })

  test.each(['into quarantine', 'out of quarantine'])(
    'has each package of those that are moved %s meanwhile',
    async way => {
      const digests = Array.from({ length: 600 }, () => randomBytes(32).toString('hex') as Sha256)
      const ways = [layout.blob, layout.quarantined] as const
      const [from, to] = way === 'into quarantine' ? ways : ([ways[1], ways[0]] as const)
      await lay(...digests.map(digest => relative(layout.root, from(digest))))
      for (const digest of digests) await mkdir(dirname(to(digest)), { recursive: true })
      const moving = (async () => {
        for (const digest of digests) await rename(from(digest), to(digest))
      })()
      const paths = await cutNow(({ paths: all }) => Promise.resolve(all))
      await moving
      const there = new Set(paths.map(path => basename(path)))
      expect(digests.filter(digest => !there.has(digest))).toEqual([])
    },
  )
})
