import { describe, expect, test } from 'vitest'
import {
  covers,
  needRoute,
  needScope,
  needScopes,
  ROLES,
  type Principal,
  type Role,
  type Scope,
  type Scoped,
} from './access.ts'
import { isRefusal } from './errors.ts'

test('a role covers those that may nothing beyond it; auditor and uploader stand beside each other', () => {
  const covered = (own: Role): Role[] => ROLES.filter(role => covers(own, role))
  expect(Object.fromEntries(ROLES.map(own => [own, covered(own)]))).toEqual({
    reader: ['reader'],
    auditor: ['reader', 'auditor'],
    uploader: ['reader', 'uploader'],
    maintainer: ['reader', 'auditor', 'uploader', 'maintainer'],
    admin: ['reader', 'auditor', 'uploader', 'maintainer', 'admin'],
  })
})

const codeOf = (work: () => void): string => {
  try {
    work()
    return ''
  } catch (error) {
    return isRefusal(error) ? error.code : String(error)
  }
}
const who = (scope?: Scope): Principal => ({
  kind: 'token',
  name: 'ci',
  role: 'admin',
  credential: 'c',
  ...(scope === undefined ? {} : { scope }),
})
const JAMMY: Scope = { distributions: ['jammy'], uploadOnly: false }
const UPLOADS: Scope = { uploadOnly: true }
const BOTH: Scope = { distributions: ['jammy'], uploadOnly: true }

describe('limits of API tokens', () => {
  test.each<[string, Scope | undefined, Scoped | undefined, boolean, string]>([
    ["nobody's limit", undefined, undefined, false, ''],
    ['reading where it is limited to a distribution', JAMMY, undefined, true, ''],
    ['a change that looks at no distribution', JAMMY, undefined, false, 'outside_scope'],
    ['a change that looks at the distribution', JAMMY, 'distribution', false, ''],
    ['an upload', JAMMY, 'upload', false, ''],
    ['reading where it is for uploads', UPLOADS, undefined, true, 'outside_scope'],
    ['a change where it is for uploads', UPLOADS, 'distribution', false, 'outside_scope'],
    ['an upload where it is for uploads', UPLOADS, 'upload', false, ''],
    ['reading where it is for uploads to one', BOTH, undefined, true, 'outside_scope'],
  ])('%s', (_, scope, scoped, isRead, code) => {
    expect(codeOf(() => needRoute(who(scope), { scoped, isRead }))).toBe(code)
  })

  test('by distribution name those, in order and alone', () => {
    for (const scope of [JAMMY, BOTH]) expect(codeOf(() => needScope(who(scope), 'jammy'))).toBe('')
    for (const scope of [undefined, UPLOADS]) expect(codeOf(() => needScope(who(scope), 'noble'))).toBe('')
    for (const codenames of [
      ['jammy', 'noble'],
      ['noble', 'jammy'],
    ])
      expect(codeOf(() => needScopes(who(JAMMY), codenames))).toBe('outside_distribution')
    expect([who(JAMMY), who(UPLOADS), who()].map(one => codeOf(() => needScopes(one, 'all')))).toEqual([
      'outside_scope',
      '',
      '',
    ])
    for (const codename of ['noble', 'jammy ', 'JAMMY', ''])
      expect(codeOf(() => needScope(who(JAMMY), codename))).toBe('outside_distribution')
  })
})
