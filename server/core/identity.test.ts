import { describe, expect, test } from 'vitest'
import { DISTRIBUTIONS, getDistribution, repositories } from '../../test/support/repositories.ts'
import { ERRORS, fail, isRefusal } from './errors.ts'
import { mergeFindings, worst } from './findings.ts'
import { relPath, sha256 } from './identity.ts'
import { allows, ROLES, type Access } from './access.ts'

describe('relPath', () => {
  test.each(['a', 'a/b.c', 'h/hello/hello_2.10-3_amd64.deb', '.hidden', 'a..b'])('takes %j', path =>
    expect(relPath(path)).toBe(path),
  )
  test.each(['', '/a', 'a/', 'a//b', '..', 'a/../b', './a', 'a/.', 'a\\b', 'a\u0000b', 'a\nb'])('refuses %j', path => {
    expect(() => relPath(path)).toThrow('not allowed')
  })
})

test('a digest is 64 lower-case hex characters and nothing else', () => {
  expect(sha256('a'.repeat(64))).toBe('a'.repeat(64))
  for (const bad of ['', 'A'.repeat(64), 'a'.repeat(63), `${'a'.repeat(64)}\n`])
    expect(() => sha256(bad)).toThrow('not a SHA-256')
})

test('the codenames are those of the specification, and what is supported beside them', () => {
  const of = (format: string): string[] => DISTRIBUTIONS.filter(d => d.format === format).map(d => d.codename)
  expect(of('deb')).toEqual(['jammy', 'noble', 'focal', 'resolute', 'bookworm', 'trixie', 'bullseye'])
  expect(of('rpm')).toEqual(
    expect.arrayContaining([
      ...['almalinux8', 'almalinux9', 'rocky8', 'rocky9', 'centos-stream9', 'oraclelinux8', 'fedora'],
      ...['opensuse-leap-15.6', 'opensuse-tumbleweed', 'almalinux10', 'fedora44', 'fedora45'],
    ]),
  )
  expect(of('apk')).toEqual(['18', '19', '20', '21', '22', '23', '24'].map(minor => `alpine3.${minor}`))
  expect(repositories.find('sid')).toBeUndefined()
  expect(() => getDistribution('sid')).toThrow('There are: jammy')
})

test('every refusal names its facts, and only the facts it was given', () => {
  for (const code of Object.keys(ERRORS)) expect(code).toMatch(/^[a-z_]+$/)
  try {
    fail('user_exists', { username: 'ann' })
  } catch (error) {
    expect(isRefusal(error, 'user_exists')).toBe(true)
    expect((error as Error).message).toBe('The user ann exists already.')
  }
})

test('roles follow the specification, the auditor beside the ladder', () => {
  const allowed = (access: Access): string => ROLES.filter(role => allows(access, role)).join(' ')
  expect(allowed('any')).toBe('reader auditor uploader maintainer admin')
  expect(allowed('uploader+')).toBe('uploader maintainer admin')
  expect(allowed('auditor+')).toBe('auditor maintainer admin')
  expect(allowed('maintainer+')).toBe('maintainer admin')
  expect(allowed('admin')).toBe('admin')
  expect(allows('any', undefined)).toBe(false)
  expect(allows('public', undefined)).toBe(true)
})

test('what several engines found becomes one finding with the worst severity', () => {
  const merged = mergeFindings([
    [{ id: 'CVE-1', package: 'a', severity: 'low', detected_by: ['one'], fixed_in: '2' }],
    [
      { id: 'CVE-1', package: 'a', severity: 'high', detected_by: ['two'], kev: true },
      { id: 'CVE-1', package: 'b', severity: 'low', detected_by: ['two'] },
    ],
  ])
  expect(merged).toEqual([
    { id: 'CVE-1', package: 'a', severity: 'high', detected_by: ['one', 'two'], fixed_in: '2', kev: true },
    { id: 'CVE-1', package: 'b', severity: 'low', detected_by: ['two'] },
  ])
  expect(worst(merged)).toBe('high')
  expect(worst([])).toBeUndefined()
})
