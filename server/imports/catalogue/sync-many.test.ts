import { expect, test } from 'vitest'
import type { Source } from '../source.ts'
import type { SyncResult } from './outcome.ts'
import { createSyncMany } from './sync-many.ts'
import { createReadingTurns } from './turns.ts'

const NEVER = new AbortController().signal
const source = (key: string): Source => ({ key, format: 'deb' }) as Source
const ok = (key: string): SyncResult => ({
  source_id: key,
  state: 'ok',
  said: null,
  changed: false,
  packages: 1,
  added: 0,
  removed: 0,
  bytes: 1,
})

test('sources that do not answer leave the others their turn, and are told when they end', async () => {
  const silent = Promise.withResolvers<undefined>()
  const ended: string[] = []
  const others = Promise.withResolvers<undefined>()
  const syncMany = createSyncMany({
    run: async ({ key }) => {
      if (key.startsWith('silent')) await silent.promise
      return ok(key)
    },
  })
  const silents = Array.from({ length: 7 }, (_, n) => source(`silent${n}`))
  const done = syncMany([...silents, source('one'), source('two'), source('three')], {
    signal: NEVER,
    ended: async ({ key }) => {
      ended.push(key)
      if (key === 'three') others.resolve(undefined)
    },
  })
  await others.promise
  expect(ended).toEqual(['one', 'two', 'three'])
  silent.resolve(undefined)
  await done
  expect(ended).toHaveLength(10)
})

test('what is wrong inside with one source is thrown when all have ended, and whoever is cancelled waits no longer', async () => {
  const ended: string[] = []
  const cancelled = new AbortController()
  const started: string[] = []
  const syncMany = createSyncMany({
    run: async ({ key }, { signal }) => {
      started.push(key)
      if (key === 'broken') throw new Error('no database')
      if (key === 'slow0') cancelled.abort(new Error('cancelled'))
      return new Promise((resolve, reject) => {
        if (key === 'well') resolve(ok(key))
        else if (signal.aborted) reject(signal.reason as Error)
        else signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
    },
  })
  const note = async ({ key }: Source): Promise<void> => void ended.push(key)
  await expect(syncMany([source('broken'), source('well')], { signal: NEVER, ended: note })).rejects.toThrow(
    'no database',
  )
  expect(ended).toEqual(['well'])
  const many = Array.from({ length: 20 }, (_, n) => source(`slow${n}`))
  await expect(syncMany(many, { signal: cancelled.signal, ended: note })).rejects.toThrow('cancelled')
  expect(started).toHaveLength(2 + 1) // the others had not begun
})

test('of each format so many are read at once, one format beside the other', async () => {
  const turns = createReadingTurns(format => (format === 'deb' ? 2 : 1))
  const free = Promise.withResolvers<undefined>()
  const begun: string[] = []
  const read = (format: 'deb' | 'rpm', name: string): Promise<void> =>
    turns(format, NEVER, async () => {
      begun.push(name)
      await free.promise
    })
  const all = [read('deb', 'a'), read('deb', 'b'), read('deb', 'c'), read('rpm', 'd'), read('rpm', 'e')]
  await Promise.resolve()
  expect(begun).toEqual(['a', 'b', 'd'])
  free.resolve(undefined)
  await Promise.all(all)
  expect(begun).toEqual(['a', 'b', 'd', 'c', 'e'])
})
