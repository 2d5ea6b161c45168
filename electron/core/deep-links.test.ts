import { describe, expect, test } from 'vitest'
import { readDeepLink } from './deep-links.ts'
import { outsideUrl } from './outside.ts'
import type { Entry } from './connections.ts'

const ID = 'a0123456789ab'
const KNOWN: Entry[] = [
  {
    id: ID,
    name: 'gatehouse-01',
    colour: 'ochre',
    environment: '',
    origin: 'https://gatehouse-01.nordwerk.lan',
    trust: { by: 'system' },
    trustedAt: '2026-03-03T00:00:00.000Z',
    reachedAt: null,
    version: null,
    place: '',
  },
]
const read = (link: string) => readDeepLink(link, KNOWN)

describe('a link to a place', () => {
  test.each([
    ['gatehouse://gatehouse-01.nordwerk.lan', ''],
    ['gatehouse://gatehouse-01.nordwerk.lan/review', '#/review'],
    ['gatehouse://GATEHOUSE-01.nordwerk.lan/packages?q=curl', '#/packages?q=curl'],
    [
      'gatehouse://gatehouse-01.nordwerk.lan/packages?pick=curl&version=1:7.88.1-10%2Bb1&in=bookworm',
      '#/packages?pick=curl&version=1%3A7.88.1-10%2Bb1&in=bookworm',
    ],
  ])('%s opens it', (link, hash) => {
    expect(read(link)).toEqual({ kind: 'place', id: ID, url: `app://${ID}/${hash}` })
  })
})

test('a link to an appliance that nobody trusts fills in its address, without its token', () => {
  const fp = 'AB'.repeat(32)
  const found = read(`gatehouse://10.20.0.31:444/?fp=${fp}&token=K7MQR2XD9HVT`)
  expect(found).toEqual({
    kind: 'new',
    url: `app://home/#/add?address=${encodeURIComponent(`gatehouse://10.20.0.31:444?fp=${fp}`)}`,
  })
})

describe('a link of a page', () => {
  test.each([
    ['https://nvd.nist.gov/vuln/detail/CVE-2024-6387', 'https://nvd.nist.gov/vuln/detail/CVE-2024-6387'],
    ['https://osv.dev/vulnerability/DSA-1', 'https://osv.dev/vulnerability/DSA-1'],
    [`app://${ID}/repos/gpg.key`, 'https://gatehouse-01.nordwerk.lan/repos/gpg.key'],
  ])('%s is opened outside', (link, url) => {
    expect(outsideUrl(link, KNOWN)).toBe(url)
  })
})
