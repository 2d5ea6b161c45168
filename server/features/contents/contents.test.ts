import { expect, test } from 'vitest'
import type { Component, Contents } from '../../contents/component.ts'
import type { Finding } from '../../core/findings.ts'
import { listComponents, listUnopened } from './contents.ts'

const FIRST = { page: 1, perPage: 50 }
const npm = (name: string, path: string, more: Partial<Component> = {}): Component => ({
  purl: `pkg:npm/${name}@1.0.0`,
  name,
  version: '1.0.0',
  path,
  presence: 'shipped',
  rule: 'package-json',
  confidence: 'certain',
  ...more,
})
const finding = (id: string, about: Component, more: Partial<Finding> = {}): Finding => {
  const { purl, path, rule, confidence, presence } = about
  return {
    id,
    package: purl,
    severity: 'high',
    detected_by: ['embedded'],
    at: { purl, path, rule, confidence, presence },
    ...more,
  }
}
const many: Contents = {
  components: Array.from({ length: 5_000 }, (_, n) =>
    npm(`part${String(n).padStart(4, '0')}`, `opt/${n}/package.json`),
  ),
  unopened: [],
}
const named = (page: { readonly items: readonly { readonly path: string }[] }): string[] =>
  page.items.map(({ path }) => path)

test('a page of 5,000 components has those with findings first, and the numbers of all', () => {
  const concerned = many.components[4_321] as Component
  const page = listComponents(many, [finding('CVE-2026-1', concerned)], {
    filter: {},
    paging: { page: 1, perPage: 2 },
  })
  expect(page).toEqual({
    items: [
      {
        purl: 'pkg:npm/part4321@1.0.0',
        name: 'part4321',
        version: '1.0.0',
        path: 'opt/4321/package.json',
        presence: 'shipped',
        rule: 'package-json',
        confidence: 'certain',
        findings: ['CVE-2026-1'],
      },
      {
        purl: 'pkg:npm/part0000@1.0.0',
        name: 'part0000',
        version: '1.0.0',
        path: 'opt/0/package.json',
        presence: 'shipped',
        rule: 'package-json',
        confidence: 'certain',
        findings: [],
      },
    ],
    total: 5_000,
    page: 1,
    per_page: 2,
    pages: 2_500,
    shipped: 5_000,
    declared: 0,
  })
  expect(named(listComponents(many, [], { filter: {}, paging: { page: 2_500, perPage: 2 } }))).toEqual([
    'opt/4998/package.json',
    'opt/4999/package.json',
  ])
})

test('components are narrowed to a word in any case, to a presence, to those with findings', () => {
  const lock = npm('ms', 'opt/Lock/package-lock.json', {
    presence: 'declared',
    unasked: 'It is wanted for development.',
  })
  const [a, b] = [npm('ms', 'opt/a/package.json'), npm('ms', 'opt/b/package.json')]
  const contents: Contents = {
    components: [lock, a, b, npm('he', 'opt/he.json')],
    unopened: [],
    cut: 'It is too large.',
  }
  const list = (filter: Parameters<typeof listComponents>[2]['filter']): string[] =>
    named(listComponents(contents, [finding('CVE-2026-1', a)], { filter, paging: FIRST }))
  expect(list({ q: 'LOCK' })).toEqual([lock.path])
  expect(list({ q: 'npm/ms@' })).toEqual([a.path, b.path, lock.path])
  expect(list({ presence: 'declared' })).toEqual([lock.path])
  expect(list({ findings: true })).toEqual([a.path, b.path])
  expect(list({ findings: false })).toEqual([lock.path, 'opt/he.json'])
  expect(list({ q: 'nothing' })).toEqual([])
  const { items, ...beside } = listComponents(contents, [], { filter: { presence: 'declared' }, paging: FIRST })
  expect(items[0]?.unasked).toBe('It is wanted for development.')
  expect(beside).toEqual({
    total: 1,
    page: 1,
    per_page: 50,
    pages: 1,
    shipped: 3,
    declared: 1,
    cut: 'It is too large.',
  })
})

test('a copy that cannot have a vulnerability does not show it', () => {
  const [whole, cleared] = [
    npm('x', 'a.jar'),
    npm('x', 'b.jar', { cleared: { ids: ['CVE-2026-1'], why: 'Its class X is not in this copy.' } }),
  ]
  const page = listComponents(
    { components: [whole, cleared], unopened: [] },
    [finding('GHSA-1', whole, { aliases: ['CVE-2026-1'] }), finding('CVE-2026-2', whole)],
    { filter: {}, paging: FIRST },
  )
  expect(page.items.map(({ path, findings }) => [path, findings])).toEqual([
    ['a.jar', ['GHSA-1', 'CVE-2026-2']],
    ['b.jar', ['CVE-2026-2']],
  ])
})

test('what was not opened is listed by path or reason, with how many more there are', () => {
  const [one, two] = [
    { path: 'opt/a.zip', size: 10, why: 'It is encrypted.' },
    { path: 'opt/b.zip', size: 20, why: 'It is damaged.' },
  ]
  const contents: Contents = { components: [], unopened: [one, two], more: 7 }
  expect(listUnopened(contents, { q: 'ENCRYPTED', paging: FIRST })).toEqual({
    items: [one],
    total: 1,
    page: 1,
    per_page: 50,
    pages: 1,
    all: 9,
    more: 7,
  })
  expect(listUnopened(contents, { paging: { page: 2, perPage: 1 } }).items).toEqual([two])
})
