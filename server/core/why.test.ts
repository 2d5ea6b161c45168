import { expect, test } from 'vitest'
import { whyOf } from './why.ts'

test('a finding says which file, which rule, which record, and data of which day', () => {
  expect(
    whyOf({
      at: {
        purl: 'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1',
        path: 'opt/app.war!/WEB-INF/lib/log4j-core.jar',
        rule: 'pom-properties',
        confidence: 'certain',
        presence: 'shipped',
      },
      matched: { ecosystem: 'maven', name: 'org.apache.logging.log4j:log4j-core', version: '2.14.1' },
      evidence: [
        {
          record: 'GHSA-jfh8-c2jp-5v3q',
          source: 'osv/Maven',
          data_at: '2026-11-20T01:00:00.000Z',
          modified: '2025-05-09T13:13:16.000Z',
          says: 'versions from 2.13.0 on and before 2.15.0',
        },
      ],
    }),
  ).toEqual([
    'opt/app.war!/WEB-INF/lib/log4j-core.jar says that pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1 is in the package (rule pom-properties).',
    'It was looked up as org.apache.logging.log4j:log4j-core 2.14.1 in the data for maven.',
    'GHSA-jfh8-c2jp-5v3q, changed on 2025-05-09, in osv/Maven of 2026-11-20, names versions from 2.13.0 on and before 2.15.0.',
  ])
})

test('what is only probable, and what is only declared, says so', () => {
  const at = { purl: 'pkg:cargo/time@0.1.42', path: 'usr/bin/app', rule: 'rust-panics' }
  expect([
    whyOf({ at: { ...at, confidence: 'probable', presence: 'shipped' } }),
    whyOf({ at: { ...at, confidence: 'certain', presence: 'declared' } }),
    whyOf({
      at: { ...at, path: 'needs time (^0.1)', rule: 'dependency', confidence: 'certain', presence: 'declared' },
    }),
  ]).toEqual([
    ['usr/bin/app says that pkg:cargo/time@0.1.42 is probably in the package (rule rust-panics).'],
    ['usr/bin/app asks for pkg:cargo/time@0.1.42; whether it was built in cannot be seen (rule rust-panics).'],
    ['The package needs time (^0.1), for which pkg:cargo/time@0.1.42 was looked up.'],
  ])
})

test('what an earlier release or another engine recorded says what it knows', () => {
  expect(whyOf({})).toEqual([])
  expect(whyOf({ evidence: [{ record: 'CVE-2026-10001', source: 'debian/tracker', says: 'every version' }] })).toEqual([
    'CVE-2026-10001, in debian/tracker, names every version.',
  ])
})
