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

test('two versions that do the same have nothing new', () => {
  expect(sayChanges(changesBetween(with_(), with_()))).toBe('Installing it does nothing new.')
})
