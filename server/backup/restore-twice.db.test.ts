import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { connected } from '../db/connected.ts'
import { openClient, type DatabaseAddress, type Db } from '../db/db.ts'
import { decide, decideUndo, stageBackup, sweepRestores } from './restore.ts'
import { readPlan, writePlan, type Plan } from './restore-plan.ts'
import { claimRestore } from './restore-database.ts'

let db: Db
let address: DatabaseAddress
let close: () => Promise<void>
let root: string
beforeAll(async () => {
  ;({ db, address, close } = await createTestDb())
  await db.query('create schema before_restore_20260301100000')
})
afterAll(() => close())
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-twice-'))
  return () => rm(root, { recursive: true, force: true })
})

const at = new Date('2026-03-02T10:00:00Z')
const alone = <T>(work: (client: Client) => Promise<T>): Promise<T> => connected(() => openClient(address), work)
const undo = (by: string): Promise<boolean> => alone(client => decideUndo(root, client, { by, at }))
const stage = (client: Client): Promise<unknown> =>
  stageBackup({
    ...{
      root,
      client,
      passphrase: '',
      settingsKey: undefined,
      say: () => undefined,
      signal: new AbortController().signal,
    },
    source: {
      about: () => Promise.reject(new Error('it was looked at')),
      sizeBytes: () => Promise.reject(new Error('it was read')),
      read: () => Promise.reject(new Error('read')),
    },
  })
const UNDER_WAY = { code: 'restore_under_way' }

test('while a restore is prepared neither another one nor an undo begins, and nothing of it is swept', async () => {
  await alone(async first => {
    expect(await claimRestore(first)).toBe(true)
    await expect(alone(stage)).rejects.toMatchObject(UNDER_WAY)
    await expect(undo('ada')).rejects.toMatchObject(UNDER_WAY)
    await alone(client => sweepRestores(root, client, new Date('2027-01-01')))
  })
  expect(await readdir(root)).toEqual([])
  // it is over with its connection; what was put aside is still there
  await expect(alone(stage)).rejects.toThrow('it was read')
  expect(await undo('ada')).toBe(true)
})

test('what was decided stays decided: a second plan does not replace it', async () => {
  expect(await undo('ada')).toBe(true)
  const plan = await readPlan(root)
  expect(plan).toMatchObject({ do: 'undo', by: 'ada' })
  await expect(undo('bea')).rejects.toMatchObject(UNDER_WAY)
  await expect(alone(stage)).rejects.toMatchObject(UNDER_WAY)
  // one that was prepared before it, on another replica
  await expect(decide(root, { ...(plan as Plan), by: 'cy' })).rejects.toMatchObject(UNDER_WAY)
  await expect(writePlan(root, { ...(plan as Plan), by: 'dan' })).rejects.toMatchObject(UNDER_WAY)
  expect(await readPlan(root)).toEqual(plan)
  expect(await readdir(join(root, '.restore'))).toEqual(['plan.json'])
})
