import { expect, test } from 'vitest'
import { SETTINGS } from './schema.ts'
import { changeOf } from './shown.ts'
import { leaves, type Leaf } from './tree.ts'

const ALL = [...leaves(SETTINGS, {})]
const SECRETS = ALL.filter(({ schema }) => schema.secret === true)
const said = (path: string, before: unknown, value: unknown): string => {
  const leaf = ALL.find(one => one.path === path)
  if (leaf === undefined) throw new Error(`there is no setting ${path}`)
  return `${changeOf({ ...leaf, value }, before).from} → ${changeOf({ ...leaf, value }, before).to}`
}

test.each(SECRETS.map((leaf): [string, Leaf] => [leaf.path, leaf]))('of %s nothing is told', (key, leaf) => {
  const change = (from: string, value: string): unknown => changeOf({ ...leaf, value }, from)
  expect([change('', 'hunter2'), change('hunter2', 'hunter3'), change('hunter3', '')]).toEqual([
    { key, from: '(empty)', to: '***' },
    { key, from: '***', to: '***' },
    { key, from: '***', to: '(empty)' },
  ])
})

test('a setting whose name sounds like a secret is one', () => {
  const sounds = ALL.filter(({ path }) => /_password$|passphrase|_secret$|secret_key$|license\.key$/.test(path))
  expect(sounds.length).toBeGreaterThan(5)
  expect(sounds.filter(one => !SECRETS.includes(one)).map(({ path }) => path)).toEqual([])
})

test.each(ALL.filter(({ schema }) => schema.type === 'string' && schema.secret !== true).map(({ path }) => path))(
  'an address in %s comes without its password and what it asks with',
  path => {
    expect(
      said(path, 'https://ada:hunter2@a.example/x', 'https://a.example/x?token=hunter3 jammy=http://b:hunter4@c/y'),
    ).not.toMatch(/hunter\d/)
  },
)

test.each([
  ['security.feeds.osv_url', '', 'https://ada:p%40w@osv.example/a', '(empty) → https://***@osv.example/a'],
  [
    'security.feeds.osv_url',
    'https://osv.example/@scope',
    'https://osv.example/a?key=1',
    'https://osv.example/@scope → https://osv.example/a?***',
  ],
  ['notifications.webhook_url', '', 'https://chat.example/services/T0/s3cret', '(empty) → https://chat.example/***'],
  ['validation.on_scanner_unavailable', 'warn', 'hold', 'warn → hold'],
  ['email.smtp_port', 25, 587, '25 → 587'],
  [
    'import.resolve_uploads',
    { jammy: true, acme: true },
    { jammy: true, acme: true, noble: false },
    '(empty) → {"noble":false}',
  ],
  [
    'import.resolve_uploads',
    { jammy: true, acme: true },
    { jammy: false, acme: true },
    '{"jammy":true} → {"jammy":false}',
  ],
])('%s: from %j to %j is said %s', (path, before, value, words) => {
  expect(said(path, before, value)).toBe(words)
})

test('a long value ends before a name, never within it: a part would pass where the whole name is hidden', () => {
  for (let more = 1; more < 20; more++) {
    const shown = said('import.base_of', '', `${'x'.repeat(more)}=none${' of-acme=none'.repeat(40)}`)
    expect(shown).toMatch(/[ =]…$/)
    expect(shown.length).toBeGreaterThan(190)
  }
  expect(said('import.base_of', '', 'x'.repeat(900)).length).toBeGreaterThan(100)
})
