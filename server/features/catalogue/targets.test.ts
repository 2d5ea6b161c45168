import { expect, test } from 'vitest'
import type { Source } from '../../imports/source.ts'
import { sourcesOf } from './targets.ts'

test('at night those are asked that the catalogue holds, and security updates of what is published here', () => {
  const source = (id: number, more: Partial<Source>): Source =>
    ({
      id,
      key: `s${id}`,
      format: 'deb',
      codenames: ['bookworm'],
      security: false,
      enabled: true,
      retired: false,
      ...more,
    }) as Source
  const sources = [
    source(1, {}),
    source(2, {}),
    source(3, { security: true }),
    source(4, { security: true, codenames: ['noble'] as never }),
    source(5, { enabled: false }),
  ]
  const found = sourcesOf(
    'daily',
    sources,
    { formats: [] },
    { held: new Set([2, 5]), codenames: new Set(['bookworm']) },
  )
  expect(found.map(({ id }) => id)).toEqual([2, 3])
})
