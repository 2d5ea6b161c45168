import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { satisfies } from './relation.ts'

const SCRIPT = `
import rpm, sys
ops = {'<': 2, '>': 4, '=': 8, '<=': 10, '>=': 12}
for line in sys.stdin:
  have, op, need = line.rstrip('\\n').split('\\t')
  provided = rpm.ds(('x', 8 if have else 0, have), rpm.RPMTAG_PROVIDENAME)
  print(int(provided.Compare(rpm.ds(('x', ops[op], need), rpm.RPMTAG_REQUIRENAME))))
`
const python = ['/usr/bin/python3', 'python3'].find(path => spawnSync(path, ['-c', 'import rpm']).status === 0)
test.skipIf(python === undefined)('rpm agrees on 1,700 pairs', () => {
  const versions = [
    '',
    '1.0',
    '1.0-1',
    '1.0-5',
    '1.0-1.el9',
    '0:1.0-1',
    '1:1.0',
    '1:1.0-1',
    '2:0.1-1',
    '1.0~rc1',
    '1.0~rc1-1',
    '1.0^git1-1',
    '1',
    '1.1-1',
    '1.00-01',
    '0.9',
    '10',
    'a-1',
    '1.a',
  ]
  const rows = versions.flatMap(have =>
    (['<', '<=', '=', '>=', '>'] as const).flatMap(op =>
      versions.filter(need => need !== '').map(need => ({ have, op, need })),
    ),
  )
  const { stdout } = spawnSync(python ?? '', ['-c', SCRIPT], {
    input: rows.map(({ have, op, need }) => `${have}\t${op}\t${need}\n`).join(''),
    encoding: 'utf8',
  })
  const answers = stdout.trim().split('\n')
  expect(answers.length).toBe(rows.length)
  const ours = ({ have, op, need }: (typeof rows)[number]): boolean =>
    satisfies(have === '' ? { name: 'x' } : { name: 'x', version: have }, { name: 'x', op, version: need })
  expect(rows.filter((row, i) => ours(row) !== (answers[i] === '1'))).toEqual([])
})
