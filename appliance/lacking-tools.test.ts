import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lackingTools } from './lacking-tools.ts'

test('programs are looked for where programs are, files at their path; what lacks is told once by its package', () => {
  const here = join(import.meta.dirname, 'lacking-tools.ts')
  expect(
    lackingTools({ 'sh': 'dash', 'no-such-program': 'absent', [here]: 'here', [`${here}.no`]: 'absent-common' }),
  ).toEqual(['absent', 'absent-common'])
})
