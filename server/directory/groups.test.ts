import { describe, expect, test } from 'vitest'
import { isGroup, roleOfGroups } from './groups.ts'

describe('a group is the one the settings name', () => {
  test.each([
    ['cn=admins,ou=g,dc=x', 'cn=admins,ou=g,dc=x', true],
    ['CN=Admins, OU=G , DC=X', 'cn=admins,ou=g,dc=x', true],
    ['cn=a\\2cb,dc=x', 'cn=a\\,b,dc=x', true],
    ['cn=gr\\c3\\bc\\c3\\9fe,dc=x', 'cn=grüße,dc=x', true],
    ['cn=admins,ou=g,dc=x', 'admins', true],
    ['admins', 'Admins', true],
    ['cn=a\\,b,dc=x', 'a,b', true],
    ['cn=admins,ou=other,dc=x', 'cn=admins,ou=g,dc=x', false],
    ['cn=admins,ou=g,dc=x', 'cn=admins,ou=g', false],
    ['cn=admins,ou=g', 'cn=admins,ou=g,dc=x', false],
    ['cn=not-admins,dc=x', 'admins', false],
    ['cn=x,ou=admins,dc=x', 'admins', false],
    ['admins', 'cn=admins,dc=x', false],
    ['cn=a\\,cn=admins,dc=x', 'cn=a,cn=admins,dc=x', false],
    ['cn=admins,dc=x', '', false],
    ['', '', false],
    ['', ' ', false],
  ])('%j and %j: %j', (member, named, is) => {
    expect(isGroup(member, named)).toBe(is)
  })
})

test('the highest role wins, and nobody is in a group that is not named', () => {
  const none = { group_admin: '', group_maintainer: '', group_uploader: '', group_auditor: '', group_reader: '' }
  const all = { group_admin: 'a', group_maintainer: 'm', group_uploader: 'u', group_auditor: 'v', group_reader: 'r' }
  expect(roleOfGroups(['r', 'v', 'u', 'm', 'a'], all)).toBe('admin')
  expect(roleOfGroups(['r', 'v', 'u', 'm'], all)).toBe('maintainer')
  expect(roleOfGroups(['r', 'v', 'u'], all)).toBe('uploader')
  expect(roleOfGroups(['r', 'v'], all)).toBe('auditor')
  expect(roleOfGroups(['r'], all)).toBe('reader')
  expect(roleOfGroups(['x', ''], all)).toBeUndefined()
  expect(roleOfGroups(['a', ''], none)).toBeUndefined()
})
