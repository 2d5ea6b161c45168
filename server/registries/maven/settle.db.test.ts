import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spoolBytes } from '../../../test/support/packages.ts'
import { createTestDb } from '../../../test/support/postgres.ts'
import { layoutOf } from '../../../test/support/repositories.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import type { Codename } from '../../core/identity.ts'
import { createRepositories, type Distribution } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { createDeploys } from './deploys.ts'
import { listArrived } from './rows.ts'
import { createSettle, type SettleDeps } from './settle.ts'

let db: Db
let close: () => Promise<void>
let root: string
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
  root = await mkdtemp(join(tmpdir(), 'gh-settle-'))
})
afterAll(async () => {
  await close()
  await rm(root, { recursive: true, force: true })
})

const of = { codename: 'ours' as Codename, name: 'com.ours:app', version: '1.0' }
const [jammy] = DEFAULT_DISTRIBUTIONS as readonly [Distribution]

test.each([
  ['a registry of another format', { kind: 'registry', registry: { kind: 'hosted' }, format: 'npm' }],
  ['a distribution', { kind: 'distribution' }],
] as const)('files that wait for a registry whose name is by now that of %s are dropped', async (_, now) => {
  let at = new Date('2026-11-27T08:00:00Z')
  const clock = { now: () => at }
  const layout = layoutOf(root)
  await mkdir(layout.incoming, { recursive: true })
  const deploys = createDeploys({ db, layout, clock })
  const file = await spoolBytes(layout.incoming, 'app-1.0.jar', randomBytes(10))
  await deploys.add(of, file, { sender: 'ada', ip: '192.0.2.1' })
  const repositories = createRepositories([{ ...jammy, ...now, codename: of.codename }])
  const warned: unknown[] = []
  // no gate: nothing may get so far
  const deps = {
    db,
    deploys,
    clock,
    repositories,
    lock: createKeyedLock(),
    log: { warn: (one: unknown) => warned.push(one) },
  }
  const { rested } = createSettle(deps as unknown as SettleDeps)
  await rested()
  expect(await listArrived(db, of)).toHaveLength(1)
  at = new Date(at.getTime() + 2 * 60_000)
  await rested()
  expect([await listArrived(db, of), await readdir(layout.deploys), warned]).toEqual([[], [], []])
})
