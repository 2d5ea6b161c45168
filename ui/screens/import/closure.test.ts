import { expect, test } from 'vitest'
import { joinClosures, openAtFirst, rowsOf, type Resolved } from './closure.ts'

type Package = Resolved['packages'][number]
const pkg = (name: string, needs: readonly number[] = [], more: Partial<Package> = {}): Package => ({
  ...{ name, version: '1.0', arch: 'amd64', size: 10, source: 'Debian 12', component: 'main' },
  ...{ already_in_repo: false, is_root: false, needs: [...needs], forecast: null },
  ...more,
})
const resolved = (packages: readonly Package[], more: Partial<Resolved> = {}): Resolved => ({
  ...{ success: true, package: 'app', distribution: 'bookworm', arch: 'amd64', base: 'none' as const },
  ...{ total_deps: packages.length - 1, already_in_repo: 0, to_download: packages.length, download_bytes: 0 },
  packages: [...packages],
  forecast: { coverage: 'covered', message: 'Looked up.', review: 0, block: 0 },
  ...{ assumed: [], unresolved: [], conflicts: [], upstream_changed: [] },
  ...more,
})
const drawn = (all: readonly Resolved[]): string[] => {
  const { tree } = joinClosures(all)
  return rowsOf(tree, openAtFirst(tree)).map(({ node, level }) => `${level} ${node.name} ${node.note}`)
}

test('each package stands once, as near to what was asked for as it can, also in a circle', () => {
  const packages = [pkg('libc', [1]), pkg('base', [0]), pkg('lib', [0]), pkg('app', [2, 0], { is_root: true })]
  expect(drawn([resolved(packages)])).toEqual(['1 app new', '2 lib new', '2 libc new', '3 base new'])
})

test('what two of a basket need comes once, and what is here weighs nothing', () => {
  const lib = pkg('lib')
  const here = pkg('libc', [], { already_in_repo: true, size: 500 })
  const whole = joinClosures([
    resolved([lib, here, pkg('app', [0, 1], { is_root: true })]),
    resolved([lib, pkg('tool', [0], { is_root: true })]),
  ])
  expect([whole.coming, whole.here, whole.bytes]).toEqual([3, 1, 30])
})

test('what nothing meets stands below what needs it, and is open in a large tree', () => {
  const many = Array.from({ length: 60 }, (_, n) => pkg(`part${n}`))
  const packages = [...many, pkg('lib'), pkg('app', [...many.keys(), 60], { is_root: true })]
  const lines = drawn([
    resolved(packages, { unresolved: [{ needed_by: 'lib 1.0', group: 'ghost (>= 2)', reason: 'Nobody has it.' }] }),
  ])
  expect(lines).toContain('3 ghost (>= 2) missing')
})

test('what the policy holds or blocks is marked and counted; what was not looked up is not said to be fine', () => {
  const held = { action: 'review', worst: 'high', findings: 2 } as const
  const stopped = { action: 'block', worst: 'critical', findings: 1 } as const
  const fine = { action: 'allow', worst: null, findings: 0 } as const
  const packages = [
    pkg('lib', [], { forecast: held }),
    pkg('zlib', [], { forecast: stopped }),
    pkg('app', [0, 1], { is_root: true, forecast: fine }),
  ]
  expect(drawn([resolved(packages)])).toEqual(['1 app new', '2 lib review', '2 zlib block'])
  const { forecast, coming } = joinClosures([resolved(packages)])
  expect([coming, forecast]).toEqual([3, { review: 1, block: 1, isUnknown: false, message: 'Looked up.' }])
  expect(joinClosures([resolved([pkg('app', [], { is_root: true })])]).forecast?.isUnknown).toBe(true)
})

test('what is here with other bytes than upstream is told once, although two of a basket need it', () => {
  const lib = { name: 'lib', version: '1.0', arch: 'amd64', source: 'debian', is_root: false, message: 'It stays.' }
  const one = resolved([pkg('lib', [], { already_in_repo: true })], { upstream_changed: [lib] })
  expect(joinClosures([one, one]).changed).toEqual([lib])
})
