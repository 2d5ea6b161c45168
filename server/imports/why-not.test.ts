import { expect, test } from 'vitest'
import type { Manifest } from '../core/manifest.ts'
import { whyNot } from './why-not.ts'

const silent = { step: 'antivirus', outcome: 'unavailable', said: 'No antivirus engine is set up.' }
const asks = { step: 'scripts', outcome: 'warned', holds: true, said: 'postinst adds a user.' }
const failed = { step: 'format', outcome: 'failed', said: 'It is damaged.' }

test.each([
  ['an engine that did not answer, where nothing else stands against it', [silent], 'No antivirus engine is set up.'],
  ['what the policy asks for, and no engine that only warned', [silent, asks], 'postinst adds a user.'],
  ['a step that failed', [failed, silent], 'It is damaged.'],
  ['nothing that went well', [{ step: 'format', outcome: 'ok', said: 'Fine.' }], 'The policy decided so.'],
])('the reason names %s', (_, reports, said) => {
  expect(whyNot({ reports } as unknown as Manifest)).toBe(said)
})

test('what it waits for comes before the words of the steps', () => {
  const review = { held_for: 'It needs aa 1.0.' }
  expect(whyNot({ review, reports: [asks] } as unknown as Manifest)).toBe('It needs aa 1.0.')
})
