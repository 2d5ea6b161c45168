import { expect, test } from 'vitest'
import { tomlTables } from './toml-tables.ts'

test('an array of tables: strings without quotes, other values as written, tables inside with their name', () => {
  const text = [
    'version = 3',
    '[[package]]',
    'name = "a"',
    "version = '1.0'",
    'source = { registry = "https://x" }',
    'description = "say \\"hi\\" \\u00e4"',
    'dependencies = [',
    '    {name = "no"},',
    ' "b",',
    ']',
    'notes = """',
    'name = "wrong"',
    '[[package]]',
    '"""',
    '[package.source]',
    'type = "git"',
    '',
    '[[package]]',
    'name="b"',
    'name = "c"',
    '[[other]]',
    'name = "x"',
    '[package.extras]',
    'name = "y"',
    '[metadata]',
    'version = "9"',
  ].join('\r\n')
  expect([...tomlTables(text, 'package')].map(table => Object.fromEntries(table))).toEqual([
    {
      'name': 'a',
      'version': '1.0',
      'source': '{ registry = "https://x" }',
      'description': 'say "hi" ä',
      'dependencies': '[',
      'notes': '',
      'source.type': 'git',
    },
    { name: 'b' },
  ])
})

test('hostile text is read in time', () => {
  for (const line of [
    `a = "${'\\'.repeat(1990)}`,
    `[${' a'.repeat(990)}`,
    `${'a'.repeat(1999)}`,
    `a =${' '.repeat(1990)}`,
  ])
    expect([...tomlTables(`${line}\n`.repeat(8000), 'package')]).toEqual([])
}, 10_000)
