import { join } from 'node:path'
import { ESLint, Linter } from 'eslint'
import { describe, expect, test } from 'vitest'
import { packageSql } from './package-sql.ts'

const linter = new Linter()
const complaints = (code: string): string[] =>
  linter
    .verify(code, { plugins: { house: { rules: { sql: packageSql } } }, rules: { 'house/sql': 'error' } })
    .map(({ message }) => message)

describe('a statement on packages outside of the catalogue', () => {
  test.each([
    'db.query("select name from package where id = $1")',
    "db.query('SELECT 1 FROM artifact')",
    'db.query(`\n  with mine as (select * from package_file) select 1`)',
    'db.query(`select d.* from decision d ${where}`)',
    'const from = `from finding f ${where}`',
    "const from = 'from package p join account a using (name)'",
    'db.query(`select x from other ${is} join package p on p.id = other.id`)',
    "tx.query('insert into sla_breach (package_id) values ($1)')",
    "tx.query('update package set state = $1')",
    "tx.query('update package p set state = $1')",
    "tx.query('delete from tag where name = $1')",
    "tx.query('truncate package')",
  ])('is refused: %s', code => {
    expect(complaints(code)).toEqual([
      expect.stringMatching(/^Statements on packages live in server\/catalog\/queries/),
    ])
  })

  test.each([
    "db.query('select keep from retention where codename = $1')",
    "db.query('select 1 from packages_of_others')",
    "db.query('insert into publish_dirty (codename) values ($1)')",
    "fail('There is nothing to update: package and version are the same.')",
    "say('It came from package hello.')",
    'say(`A decision from ${name} ended.`)',
  ])('is not what this is: %s', code => {
    expect(complaints(code)).toEqual([])
  })
})

test('only the catalogue, migrations and tests may hold one', async () => {
  const eslint = new ESLint({ cwd: join(import.meta.dirname, '..') })
  const isOn = async (path: string): Promise<boolean> => {
    const config = (await eslint.calculateConfigForFile(path)) as { rules: Record<string, [number] | undefined> }
    return config.rules['house/package-sql']?.[0] === 2
  }
  const paths = [
    'server/features/artifacts/handlers.ts',
    'server/catalog/catalog.ts',
    'server/compose.ts',
    'server/publish/store.ts',
    'server/catalog/queries/search.ts',
    'server/db/migrations/0002-packages.ts',
    'server/catalog/catalog.db.test.ts',
    'test/bench/search.ts',
  ]
  const answers = await Promise.all(paths.map(isOn))
  expect(paths.filter((_, n) => answers[n])).toEqual(paths.slice(0, 4))
})
