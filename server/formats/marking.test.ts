import { expect, test } from 'vitest'
import { marking as npm, type NpmFacts } from './npm/facts.ts'
import { marking as pypi, type PypiFacts } from './pypi/facts.ts'

const at = '2026-11-28T00:00:00.000Z'
const from = { by: 'source:bundle-hub', at } as const
const reason = 'It loses data.'

test.each([
  ['npm', npm.set, npm.carry, { full: '{}' } as NpmFacts, { deprecated: reason }],
  ['pypi', pypi.set, pypi.carry, { filetype: 'sdist' } as PypiFacts, { yanked: { reason } }],
] as const)(
  'a mark of %s that a bundle brought and a person sets with the same words stays',
  (_, set, carry, plain, mark) => {
    // each row has the functions of one format with its own facts
    const [mine, theirs] = [set, carry] as unknown as [typeof npm.set, typeof npm.carry]
    const brought = theirs(plain as NpmFacts, mark, from) as NpmFacts
    expect(theirs(brought, {}, from)).toEqual(plain)
    const confirmed = mine(brought, { reason, by: 'mae', at })
    expect(theirs(confirmed, {}, from)).toBeUndefined()
    expect(mine(confirmed, { reason, by: 'mae', at })).toBe(confirmed)
  },
)
