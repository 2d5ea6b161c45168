import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findProgram, run } from '../test/support/tools.ts'

const UNITS = join(import.meta.dirname, 'root/usr/lib/systemd/system')

describe.skipIf(findProgram('systemd-analyze') === undefined)('units of root (needs systemd-analyze)', () => {
  // docs/appliance.md says why each is above 2.0
  test.each([
    ['machine', 5],
    ['menu@', 8],
    ['reset', 6],
    ['update', 9.4],
    ['window', 9.4],
  ])('%s is no looser than it has to be: %d', async (name, most) => {
    const path = join(UNITS, `gatehouse-${name}.service`)
    const { out, err } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', path])
    expect(Number(/exposure level for \S+: ([\d.]+)/.exec(`${out}${err}`)?.[1])).toBeLessThanOrEqual(most)
  })
})
