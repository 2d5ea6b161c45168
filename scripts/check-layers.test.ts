import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkLayers, findCycles, judge, judgePackages, readImports } from './check-layers.ts'

const ok = (from: string, to: string, isType = false): boolean => judge({ from, to, isType }) === undefined

describe('the direction of imports', () => {
  test.for<readonly [string, string]>([
    ['server/catalog/catalog.ts', 'server/core/manifest.ts'],
    ['server/pipeline/examine.ts', 'server/catalog/catalog.ts'],
    ['server/features/auth/login/handlers.ts', 'server/features/auth/accounts/store.ts'],
    ['server/review/queue.ts', 'server/catalog/page.ts'],
    ['server/scanners/osv.ts', 'server/vulndb/match/match.ts'],
    ['server/http/routes.ts', 'server/core/contract.ts'],
    ['server/main.ts', 'server/compose.ts'],
  ])('%s may import %s', ([from, to]) => {
    expect(ok(from, to)).toBe(true)
  })

  test.for<readonly [string, string]>([
    ['server/core/policy.ts', 'server/db/db.ts'],
    ['server/db/outbox.ts', 'server/catalog/catalog.ts'],
    ['server/catalog/catalog.ts', 'server/features/audit/handlers.ts'],
    ['server/features/auth/login/handlers.ts', 'server/features/audit/handlers.ts'],
    ['server/vulndb/match/match.ts', 'server/scanners/osv.ts'],
    ['server/review/queue.ts', 'server/features/review/handlers.ts'],
    ['server/catalog/catalog.ts', 'server/publish/publisher.ts'],
    ['server/files/pool.ts', 'server/record/audit.ts'],
    ['server/lib/ar.ts', 'ui/api.ts'],
    ['server/lost/thing.ts', 'server/core/policy.ts'],
    ['ui/api.ts', 'server/api.ts'],
  ])('%s may not import %s', ([from, to]) => {
    expect(ok(from, to)).toBe(false)
  })

  test('the console imports types of the server in one place, and none of its code', () => {
    expect(ok('ui/wire.ts', 'server/catalog/view.ts', true)).toBe(true)
    expect(ok('ui/wire.ts', 'server/catalog/view.ts')).toBe(false)
    expect(ok('ui/screens/login/Login.svelte', 'server/catalog/view.ts', true)).toBe(false)
  })

  test('the sentences of the audit log are in the bundle of the console, with nothing under them', () => {
    expect(ok('ui/audit-words.ts', 'server/record/audit-sentences.ts')).toBe(true)
    expect(ok('server/record/audit-sentences.ts', 'server/record/audit-facts.ts', true)).toBe(true)
    expect(ok('server/record/audit-sentences.ts', 'server/record/audit-facts.ts')).toBe(false)
  })

  test('the desktop program knows types of the server, and its core knows no Electron', () => {
    expect(ok('electron/core/watch.ts', 'electron/core/ports.ts')).toBe(true)
    expect(ok('electron/host/tray.ts', 'electron/core/ports.ts')).toBe(true)
    expect(ok('electron/core/events.ts', 'ui/sse.ts')).toBe(true)
    expect(ok('electron/core/watch.ts', 'server/record/events.ts', true)).toBe(true)
    expect(ok('ui/host.ts', 'electron/core/bridge.ts', true)).toBe(true)
    expect(ok('electron/core/watch.ts', 'server/record/events.ts')).toBe(false)
    expect(ok('electron/core/watch.ts', 'electron/host/tray.ts', true)).toBe(false)
    expect(ok('electron/main.ts', 'ui/api.ts')).toBe(false)
    expect(ok('ui/host.ts', 'electron/core/bridge.ts')).toBe(false)
    expect(ok('ui/host.ts', 'electron/core/words.ts')).toBe(true)
    expect(ok('ui/App.svelte', 'electron/core/words.ts')).toBe(false)
    expect(ok('electron/core/words.ts', 'electron/core/bridge.ts')).toBe(false)
    expect(ok('ui/App.svelte', 'electron/core/bridge.ts', true)).toBe(false)
  })

  test.for<readonly [string, string, boolean]>([
    ['electron/core/a.ts', "import { app } from 'electron'", false],
    ['electron/core/a.ts', "import type { App } from 'electron'", false],
    ['electron/core/a.ts', "const { app } = await import('electron')", false],
    ['electron/core/a.ts', "const { app } = require('electron/main')", false],
    ['electron/core/a.ts', "import keytar from 'keytar' // as electron does", true],
    ['electron/host/a.ts', "import { app } from 'electron'", true],
  ])('%s with %s', ([from, text, may]) => {
    expect(judgePackages(from, text) === undefined).toBe(may)
  })

  test('types of a neighbour are allowed, but not between features', () => {
    expect(ok('server/record/audit.ts', 'server/db/db.ts', true)).toBe(true)
    expect(ok('server/features/auth/login/handlers.ts', 'server/features/audit/handlers.ts', true)).toBe(false)
  })

  test('a part is composed in one place, and importing a type upwards is refused as importing a value is', () => {
    expect(ok('server/compose.ts', 'server/review/compose.ts')).toBe(true)
    expect(ok('server/features/review/compose.ts', 'server/review/compose.ts')).toBe(false)
    expect(ok('server/review/rescan.ts', 'server/review/compose.ts', true)).toBe(false)
    expect(ok('server/files/layout.ts', 'server/formats/format.ts', true)).toBe(false)
  })

  test('imports are read in all their forms', () => {
    const text =
      "import { a } from './a.ts'\nimport type { B } from \"../b.ts\"\nimport { type C, type D } from './c.ts'\nimport { type E, f } from './e.ts'\nexport { g } from './g.ts'\nimport './h.ts'\nimport x from 'koa'\nimport {\n  i,\n} from './i.ts'\n"
    expect(readImports('server/x/y.ts', text, '/root')).toEqual([
      { from: 'server/x/y.ts', to: 'server/x/a.ts', isType: false },
      { from: 'server/x/y.ts', to: 'server/b.ts', isType: true },
      { from: 'server/x/y.ts', to: 'server/x/c.ts', isType: true },
      { from: 'server/x/y.ts', to: 'server/x/e.ts', isType: false },
      { from: 'server/x/y.ts', to: 'server/x/g.ts', isType: false },
      { from: 'server/x/y.ts', to: 'server/x/h.ts', isType: false },
      { from: 'server/x/y.ts', to: 'server/x/i.ts', isType: false },
    ])
  })

  test('imports while running are read too', () => {
    expect(
      readImports('server/x/y.ts', 'const a = await import(\'../a.ts\')\ntype B = typeof import("./b.ts")\n', '/root'),
    ).toEqual([
      { from: 'server/x/y.ts', to: 'server/a.ts', isType: false },
      { from: 'server/x/y.ts', to: 'server/x/b.ts', isType: true },
    ])
  })

  test('a cycle of imports is reported once, also one of types', () => {
    const edge = (from: string, to: string, isType = false) => ({ from, to, isType })
    expect(findCycles([edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('c', 'd')])).toEqual(['a -> b -> c -> a'])
    expect(findCycles([edge('a', 'b'), edge('b', 'a', true)])).toEqual(['a -> b -> a'])
    expect(findCycles([edge('a', 'b'), edge('b', 'c', true), edge('a', 'c', true)])).toEqual([])
  })

  test('a tree with an upward import is refused with the way out', async () => {
    const root = await mkdtemp(join(tmpdir(), 'layers-'))
    try {
      for (const [path, text] of [
        ['server/core/a.ts', "import { b } from '../db/b.ts'\n"],
        ['server/db/b.ts', 'export const b = 1\n'],
        ['ui/App.svelte', "<script>\n  import { b } from '../server/db/b.ts'\n</script>\n"],
      ] as const) {
        await mkdir(dirname(join(root, path)), { recursive: true })
        await writeFile(join(root, path), text)
      }
      expect(checkLayers(root)).toEqual([
        expect.stringMatching(
          /^server\/core\/a\.ts \(floor 0\) imports server\/db\/b\.ts \(floor 1\).*Move what both need down to core or lib/,
        ),
        expect.stringMatching(/^ui\/App\.svelte imports server\/db\/b\.ts.*types only/),
      ])
    } finally {
      await rm(root, { recursive: true })
    }
  })
})
