import { expect, test } from 'vitest'
import type { HighestRow } from '../catalog/queries/highest.ts'
import type { Finding } from '../core/findings.ts'
import { getFormat } from '../formats/index.ts'
import { compareLists } from './changes.ts'
import type { Installed } from './package-lists.ts'
import { findNewer, weighUpdates } from './updates.ts'

const compare = (a: string, b: string): number => getFormat('deb').compareVersions(a, b)
const have = (name: string, version: string, arch = 'amd64'): Installed => ({
  name,
  version,
  arch,
  source: name,
  sourceVersion: version,
})
const row = (name: string, version: string, state: HighestRow['state'] = 'published', arch = 'amd64'): HighestRow => ({
  name,
  version,
  state,
  arch,
  source: name,
  source_version: version,
})
const newer = (installed: readonly Installed[], rows: readonly HighestRow[]) =>
  findNewer(installed, rows, { compare, neutral: ['all'], arch: 'amd64' }).map(
    ({ installed: { name, version }, available, state }) => `${name} ${version} ${available.version} ${state}`,
  )
const finding = (id: string, severity: Finding['severity'], fixed_in?: string): Finding => ({
  id,
  package: 'a',
  severity,
  detected_by: ['osv'],
  ...(fixed_in === undefined ? {} : { fixed_in }),
})

test('newer is what is higher by the order of the format, served before held', () => {
  expect(newer([have('a', '1.9')], [row('a', '1.10')])).toEqual(['a 1.9 1.10 here'])
  expect(newer([have('a', '1.10')], [row('a', '1.9'), row('a', '1.10~rc1')])).toEqual([])
  expect(newer([have('a', '1')], [row('a', '2'), row('a', '3', 'pending_review')])).toEqual(['a 1 2 here'])
  expect(newer([have('a', '2')], [row('a', '2'), row('a', '3', 'pending_review')])).toEqual(['a 2 3 in_review'])
})

test('another architecture is no update, one for all is, and a package may get an architecture', () => {
  expect(newer([have('a', '1')], [row('a', '2', 'published', 'arm64')])).toEqual([])
  expect(newer([have('a', '1')], [row('a', '2', 'published', 'all')])).toEqual(['a 1 2 here'])
  expect(newer([have('a', '1', 'all')], [row('a', '2')])).toEqual(['a 1 2 here'])
  expect(newer([have('a', '1', 'all')], [row('a', '2', 'published', 'arm64')])).toEqual([])
})

test('of several versions of a kernel the highest is compared', () => {
  expect(newer([have('kernel', '5'), have('kernel', '6')], [row('kernel', '6')])).toEqual([])
})

test('an update closes what its version does not have; what is fixed nowhere here is not here', () => {
  const [a, b, c] = [have('a', '1'), have('b', '1'), have('c', '1')]
  const candidates = findNewer([a, b, c], [row('a', '2')], { compare, neutral: [], arch: 'amd64' })
  const afflicted = [
    { installed: a, findings: [finding('CVE-1', 'critical', '2'), finding('CVE-2', 'high', '3')] },
    { installed: b, findings: [finding('CVE-3', 'low', '5'), finding('CVE-4', 'low', '10')] },
    { installed: c, findings: [finding('CVE-5', 'medium')] },
  ]
  const { updates, stateOf } = weighUpdates(candidates, [[finding('CVE-2', 'high', '3')]], { afflicted, compare })
  expect(
    updates.map(({ name, available, state, closes }) => [
      name,
      available,
      state,
      closes.critical,
      closes.high,
      closes.low,
    ]),
  ).toEqual([
    ['a', '2', 'here', 1, 0, 0],
    ['b', '10', 'not_here', 0, 0, 2],
  ])
  expect([stateOf(a, 'CVE-1'), stateOf(a, 'CVE-2'), stateOf(b, 'CVE-3'), stateOf(c, 'CVE-5')]).toEqual([
    'here',
    'not_here',
    'not_here',
    undefined,
  ])
})

test('two lists differ by what came, went, and has another version', () => {
  const { said, counts } = compareLists(
    [have('a', '1'), have('b', '1'), have('k', '5'), have('k', '6')],
    [have('a', '2'), have('c', '1'), have('k', '6'), have('k', '7')],
  )
  expect(said).toEqual([
    { name: 'a', arch: 'amd64', from: '1', to: '2' },
    { name: 'c', arch: 'amd64', from: null, to: '1' },
    { name: 'k', arch: 'amd64', from: '5', to: '7' },
    { name: 'b', arch: 'amd64', from: '1', to: null },
  ])
  expect(counts).toEqual({ added: 1, removed: 1, changed: 2 })
})
