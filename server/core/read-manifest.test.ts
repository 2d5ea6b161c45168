import { expect, test } from 'vitest'
import { readManifest } from './read-manifest.ts'

const blob = { sha256: 'a'.repeat(64), size: 3, md5: 'm', sha1: 's', sha512: 'l' }
const received = { ...blob, sha256: 'b'.repeat(64) }
const rest = {
  ref: { format: 'rpm', name: 'hello', version: '1.0-1', arch: 'x86_64', codename: 'almalinux9' },
  about: { summary: 'greets' },
  state: 'published',
  reports: [],
  findings: [],
  facts: { header: [1, 2] },
  by: 'ann',
  from: 'upload',
  at: '2026-01-01T00:00:00.000Z',
  changed_at: '2026-01-01T00:00:00.000Z',
}
const first = { schema: 1, ...rest, blob, filename: 'hello.rpm', files: ['usr/bin/hello'] }
const second = { schema: 2, ...rest, files: [{ path: 'hello.rpm', blob }], paths: ['usr/bin/hello'] }
const signed = { key: 'F', at: '2026-01-01T00:00:00.000Z', received }

test.each([
  ['schema 1', first, second],
  ['schema 1, signed inside', { ...first, signed }, { ...second, files: [{ path: 'hello.rpm', blob, signed }] }],
  ['schema 1, nothing installed', { ...first, files: [] }, { ...second, paths: [] }],
  ['schema 2', second, second],
  [
    'schema 2, two files in a component',
    { ...second, component: 'extra', files: [...second.files, { path: 'hello.asc', blob: received }] },
    { ...second, component: 'extra', files: [...second.files, { path: 'hello.asc', blob: received }] },
  ],
])('%s is read in the shape of today', (_, json, expected) => {
  expect(readManifest(json)).toEqual(expected)
})

test.each<[string, unknown]>([
  ['nothing', null],
  ['a list', []],
  ['schema 1 without its blob', { ...first, blob: undefined }],
  ['schema 1 without the name of its file', { ...first, filename: undefined }],
  ['schema 2 without a file', { ...second, files: [] }],
  ['schema 2 with a file that has no digest', { ...second, files: [{ path: 'hello.rpm' }] }],
  ['schema 2 with the paths of schema 1', { ...second, files: ['usr/bin/hello'] }],
  ['schema 2 without paths', { ...second, paths: undefined }],
  ['no state', { ...second, state: undefined }],
])('%s is refused', (_, json) => {
  expect(() => readManifest(json)).toThrow('it is not a manifest of schema 1 or 2')
})

test('a manifest of a later schema names the release that can read it', () => {
  expect(() => readManifest({ ...second, schema: 3 })).toThrow(
    'it has schema 3 and this release reads 1 and 2: use the release that wrote it, or a later one',
  )
})
