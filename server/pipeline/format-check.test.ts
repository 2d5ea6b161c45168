import { Value } from '@sinclair/typebox/value'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildNpm } from '../../test/support/packages-npm.ts'
import { spoolBytes } from '../../test/support/packages.ts'
import { registry } from '../../test/support/registries.ts'
import type { RegistryKind } from '../core/registry.ts'
import { npm } from '../formats/npm/index.ts'
import type { Action } from '../core/action.ts'
import type { LicencePolicy } from '../core/licences/policy.ts'
import type { State } from '../core/manifest.ts'
import { decide, DONE, policyOf } from '../core/policy.ts'
import type { Report } from '../core/report.ts'
import { reconsider } from '../core/review.ts'
import { deb } from '../formats/deb/index.ts'
import type { Format } from '../formats/format.ts'
import { SETTINGS, type SettingsValue } from '../settings/schema.ts'
import { createSubject, formatStep as makeFormatStep } from './format-check.ts'
import type { Subject } from './subject.ts'
import { createUnpacking } from './unpacking.ts'

const { signal } = new AbortController()
// of formats whose packages inherit nothing it asks nobody
const formatStep = makeFormatStep({ query: () => Promise.reject(new Error('it asked')) } as never)
const DEFAULTS = Value.Create(SETTINGS) as SettingsValue
const settingsWith = (license_policy: LicencePolicy): SettingsValue => ({ ...DEFAULTS, license_policy })
const subjectOf = (format: Pick<Format, 'label'>, license: string | undefined, settings: SettingsValue): Subject =>
  ({
    format,
    settings,
    inspected: async () => ({ identity: { name: 'a', version: '1.0.0', arch: 'any' }, about: { license }, facts: {} }),
  }) as never

/** What the step makes of a package with a name that no new package may have. */
async function nameTaken(kind: RegistryKind): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-format-'))
  const bytes = buildNpm({ name: 'JSONStream', version: '1.0.0' })
  const file = await spoolBytes(folder, 'JSONStream-1.0.0.tgz', bytes)
  const distribution = { ...registry('npm'), registry: { kind } }
  const subject = createSubject({ file, format: npm, distribution } as never, createUnpacking())
  try {
    return (await subject.inspected(new AbortController().signal)).identity.name
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('a name of before the rules of today comes in from another registry, and is published into none', async () => {
  expect(await nameTaken('proxy')).toBe('JSONStream')
  await expect(nameTaken('hosted')).rejects.toMatchObject({
    code: 'bad_package',
    message: expect.stringContaining('"JSONStream" is not allowed: a name has lower-case letters') as string,
  })
})

const LISTED = 'Licence: AGPL-3.0-only is on the list of forbidden licences.'
const UNCLEAR = 'Licence: "see LICENSE" does not say whether it is on the list of forbidden licences.'
const NONE = 'Licence: the package declares none.'

// what the policy makes of `action`, and of `undeclared_action`
test.each<[string | undefined, Action, Action, Report['outcome'], boolean, string, State]>([
  ['AGPL-3.0-only', 'block', 'allow', 'warned', true, `${LISTED} ${DONE.block}`, 'quarantined'],
  ['AGPL-3.0-only', 'review', 'allow', 'warned', true, `${LISTED} ${DONE.review}`, 'pending_review'],
  ['AGPL-3.0-only', 'warn', 'allow', 'warned', false, `${LISTED} ${DONE.warn}`, 'published'],
  ['AGPL-3.0-only', 'allow', 'block', 'ok', false, 'npm package (.tgz): a 1.0.0 (any).', 'published'],
  ['AGPL-3.0-only OR MIT', 'block', 'block', 'ok', false, 'npm package (.tgz): a 1.0.0 (any).', 'published'],
  ['see LICENSE', 'block', 'allow', 'ok', false, 'npm package (.tgz): a 1.0.0 (any).', 'published'],
  ['see LICENSE', 'block', 'review', 'warned', true, `${UNCLEAR} ${DONE.review}`, 'pending_review'],
  [undefined, 'block', 'review', 'warned', true, `${NONE} ${DONE.review}`, 'pending_review'],
  [undefined, 'block', 'warn', 'warned', false, `${NONE} ${DONE.warn}`, 'published'],
])(
  'the licence %s with %s, or %s where none is said, is %s',
  async (license, action, undeclared, outcome, holds, said, state) => {
    const settings = settingsWith({ forbidden: 'AGPL-*', action, undeclared_action: undeclared })
    const report = await formatStep.run(subjectOf(npm, license, settings), signal)
    expect([report.outcome, report.holds === true, report.said]).toEqual([outcome, holds, said])
    expect(decide([report], policyOf(settings), 'native').state).toBe(state)
    const manifest = { state: 'published', reports: [report], findings: [], changed_at: '' } as const
    const later = state === 'quarantined' ? 'pending_review' : state
    expect(reconsider(manifest, policyOf(settings), '2026-01-01').state).toBe(later)
    const approval = {
      decision: 'accepted',
      action: 'approve',
      justification: 'x',
      by: 'ada',
      at: '2026-01-01',
    } as const
    expect(reconsider({ ...manifest, decision: approval }, policyOf(settings), '2026-01-02').state).toBe('published')
  },
)

test('a format without a field for licences is not held for saying none, and is for what it says', async () => {
  const settings = settingsWith({ forbidden: 'AGPL-*', action: 'block', undeclared_action: 'block' })
  const [silent, outspoken] = await Promise.all(
    [undefined, 'AGPLv3+'].map(license => formatStep.run(subjectOf(deb, license, settings), signal)),
  )
  expect(silent).toEqual({
    step: 'format',
    outcome: 'ok',
    verdict: 'valid',
    said: 'Debian package (.deb): a 1.0.0 (any).',
  })
  expect(outspoken).toMatchObject({ outcome: 'warned', verdict: 'licence', licence: { declared: 'AGPLv3+' } })
})

test('with nothing forbidden a licence is only recorded', async () => {
  const settings = settingsWith({ forbidden: '', action: 'block', undeclared_action: 'allow' })
  expect(await formatStep.run(subjectOf(npm, 'AGPL-3.0-only', settings), signal)).toMatchObject({
    outcome: 'ok',
    licence: { declared: 'AGPL-3.0-only' },
  })
})
