import { describe, expect, test } from 'vitest'
import { issueLicense, readLicense, type License } from '../core/license.ts'
import type { Settings } from './store.ts'
import { createLicensing } from './licensing.ts'

const SECRET = 'the vendor and nobody else'
const license = (more: Partial<License> = {}): License => ({
  id: 'l1',
  issued_to: 'Nordwerk AG',
  issued_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2027-01-01T00:00:00.000Z',
  ...more,
})
const at = (now: string, key: string, edition: 'enterprise' | 'community' = 'enterprise') =>
  createLicensing({
    edition,
    vendorSecret: SECRET,
    settings: { now: () => ({ license: { key } }) as ReturnType<Settings['now']> },
    clock: { now: () => new Date(now) },
    enterprise: () => ['sbom', 'promote'],
  })

describe('a licence key', () => {
  test('says what was written into it', () =>
    expect(readLicense(issueLicense(license(), SECRET), SECRET)).toEqual(license()))

  const key = issueLicense(license(), SECRET)
  const [form, payload = '', mac = ''] = key.split('.')
  const other = Buffer.from(JSON.stringify(license({ issued_to: 'Somebody else' }))).toString('base64url')
  test.each([
    ['of another vendor', issueLicense(license(), 'another')],
    ['with another text', `${form}.${other}.${mac}`],
    ['cut off', key.slice(0, -2)],
    ['without a signature', `${form}.${payload}.`],
    ['of another form', key.replace('GH1', 'GH2')],
    ['with more behind it', `${key}.x`],
    ['of nothing', ''],
    [
      'that is signed and no licence',
      (() => {
        const text = `GH1.${Buffer.from('[]').toString('base64url')}`
        return text
      })(),
    ],
    ['with a date that is none', issueLicense(license({ expires_at: 'soon' }), SECRET)],
  ])('%s is none', (_, bad) => expect(readLicense(bad, SECRET)).toBeUndefined())
})

describe('what a deployment may do', () => {
  test.each([
    ['without a key, everything', '2030-01-01', '', 'unlicensed', 'all'],
    ['with a good key, everything', '2026-06-01', issueLicense(license(), SECRET), 'valid', 'all'],
    [
      'with one that never ends, everything',
      '2099-06-01',
      issueLicense({ id: 'l', issued_to: 'N', issued_at: '2026-01-01T00:00:00.000Z' }, SECRET),
      'valid',
      'all',
    ],
    [
      'a month before the end, everything, with a warning',
      '2026-12-10',
      issueLicense(license(), SECRET),
      'expiring',
      'all',
    ],
    [
      'in the fortnight after the end, enterprise functions are read only',
      '2027-01-10',
      issueLicense(license(), SECRET),
      'grace',
      'reads',
    ],
    ['after that, none of them', '2027-01-16', issueLicense(license(), SECRET), 'expired', 'nothing'],
    ['with a key of somebody else, none of them', '2026-06-01', issueLicense(license(), 'x'), 'invalid', 'nothing'],
  ])('%s', (_, now, key, standing, allowed) => {
    const licensing = at(now, key)
    expect([licensing.card().standing, licensing.allowed()]).toEqual([standing, allowed])
    expect(licensing.card().warning === null).toBe(standing === 'valid' || standing === 'unlicensed')
    expect(JSON.stringify(licensing.card())).not.toContain('GH1')
  })
  test('the community edition stays one, whatever the key says', () => {
    expect(at('2026-06-01', issueLicense(license(), SECRET), 'community').allowed()).toBe('nothing')
  })
})
