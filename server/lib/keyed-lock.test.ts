import { expect, test } from 'vitest'
import { createKeyedLock } from './keyed-lock.ts'

test('work under one key runs one after the other, also after a failure; other keys do not wait', async () => {
  const lock = createKeyedLock()
  const seen: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = lock.run('a', async () => {
    seen.push('a1 starts')
    await gate.promise
    seen.push('a1 fails')
    throw new Error('no')
  })
  const second = lock.run('a', async () => {
    seen.push('a2')
  })
  await lock.run('b', async () => {
    seen.push('b')
  })
  gate.resolve()
  await expect(first).rejects.toThrow('no')
  await second
  expect(seen).toEqual(['a1 starts', 'b', 'a1 fails', 'a2'])
})

test('two that need the same keys in another order do not wait for each other', async () => {
  const lock = createKeyedLock()
  const done: string[] = []
  await Promise.all([
    lock.runAll(['a', 'b', 'a'], async () => void done.push('first')),
    lock.runAll(['b', 'a'], async () => void done.push('second')),
    lock.runAll([], async () => void done.push('without keys')),
  ])
  expect(done.toSorted()).toEqual(['first', 'second', 'without keys'])
})
