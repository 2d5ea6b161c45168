import { expect, test } from 'vitest'
import { createFakeClock } from '../../test/support/clock.ts'
import { createResolver } from './resolver.ts'

function counted() {
  const asked: string[] = []
  const clock = createFakeClock()
  const resolve = createResolver(clock, host => {
    asked.push(host)
    return host === 'bad.example'
      ? Promise.reject(new Error('no such name'))
      : Promise.resolve([{ address: `192.0.2.${asked.length}`, family: 4 }])
  })
  return { asked, clock, resolve }
}

test('a name is asked for once by all who need it, and again after ten seconds', async () => {
  const { asked, clock, resolve } = counted()
  const all = await Promise.all(Array.from({ length: 50 }, () => resolve('far.example')))
  expect(new Set(all.map(([one]) => one?.address))).toEqual(new Set(['192.0.2.1']))
  await resolve('other.example')
  expect(asked).toEqual(['far.example', 'other.example'])
  clock.advance(10_000)
  expect(await resolve('far.example')).toEqual([{ address: '192.0.2.3', family: 4 }])
})

test('a failure is not kept', async () => {
  const { asked, resolve } = counted()
  await expect(resolve('bad.example')).rejects.toThrow('no such name')
  await expect(resolve('bad.example')).rejects.toThrow('no such name')
  expect(asked).toHaveLength(2)
})

test('so many names are kept', async () => {
  const { asked, resolve } = counted()
  for (let n = 0; n <= 1_000; n++) await resolve(`${n}.example`)
  await resolve('1000.example')
  await resolve('0.example')
  expect(asked).toHaveLength(1_002)
})
