import { inject, expect, test } from 'vitest'
import { createDb } from './db.ts'

const cluster = inject('postgres')

test('a statement that is run often is planned again when its tables may have grown', async () => {
  const db = createDb(
    { url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(cluster.socket)}` },
    { poolSize: 1 },
  )
  try {
    const text = 'select $1::int + 41 as sum'
    const plans = async (): Promise<number> =>
      (await db.query('select 1 from pg_prepared_statements where statement = $1', [text])).length
    const run = async (times: number): Promise<void> => {
      for (let n = 0; n < times; n++) expect(await db.repeat(text, [1])).toEqual([{ sum: 42 }])
    }
    await run(64)
    expect(await plans()).toBe(1)
    await run(1)
    expect(await plans()).toBe(2)
    await run(512 - 65)
    expect(await plans()).toBe(2)
    await run(1)
    expect(await plans()).toBe(3)
  } finally {
    await db.close()
  }
})
