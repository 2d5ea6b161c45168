import { describe, expect, test } from 'vitest'
import { relPath } from '../../core/identity.ts'
import type { UpstreamRoot } from '../../formats/upstream.ts'
import { SYNC_STATES, type SyncState } from '../source.ts'
import { isClockSuspect, judgeRoot, notesOf } from './judge.ts'
import { describeState } from './states.ts'

const now = new Date('2026-11-21T12:00:00Z')
const at = (text: string): Date => new Date(`2026-${text}T00:00:00Z`)
const root: UpstreamRoot = {
  path: relPath('dists/bookworm/InRelease'),
  sha256: 'b',
  signedBy: ['KEY'],
  at: at('11-20'),
  origin: 'Debian',
  codename: 'bookworm',
}
const known = { at: at('11-19'), origin: 'Debian', codename: 'bookworm' }
const signed = { signed: true }

describe('a root that verified', () => {
  test('is read where it is the first, as new as the one before, or newer', () => {
    for (const remembered of [{}, known, { ...known, at: root.at }])
      expect(judgeRoot(remembered, [root], signed)).toBeUndefined()
  })

  test('that is older than the one before is refused', () => {
    const older = { ...root, at: at('11-18') }
    const { at: _, ...dateless } = root
    for (const one of [older, dateless]) expect(judgeRoot(known, [one], signed)).toMatchObject({ state: 'replayed' })
    // nobody vouches for the date of an unsigned one
    expect(judgeRoot(known, [older], { signed: false })).toBeUndefined()
  })

  test('of another owner or release is refused', () => {
    for (const changed of [{ origin: 'Evil' }, { codename: 'trixie' }])
      expect(judgeRoot(known, [{ ...root, ...changed }], signed)).toMatchObject({ state: 'origin_changed' })
    const { codename: _, ...unnamed } = root
    expect(judgeRoot({ codename: 'stable' }, [{ ...unnamed, suite: 'stable' }], signed)).toBeUndefined()
    expect(judgeRoot(known, [unnamed], signed)).toMatchObject({ state: 'origin_changed' })
  })
})

describe('a source that is well', () => {
  const http = { security: true, kind: 'http' } as const
  test('has a note where its security updates stand still for more than ten days', () => {
    expect(notesOf({ at: at('11-01') }, http, now)).toEqual([
      expect.stringContaining('Nothing has changed there since 2026-11-01'),
    ])
    expect(notesOf({ at: at('11-20') }, http, now)).toEqual([])
    expect(notesOf({ at: at('11-01') }, { ...http, security: false }, now)).toEqual([])
  })

  test('has a note past its end, and a medium says that it is old', () => {
    const held = { at: at('11-01'), validUntil: at('11-08') }
    expect(notesOf(held, http, now)).toEqual([expect.stringContaining('were valid until 2026-11-08')])
    expect(notesOf(held, { ...http, kind: 'tree' }, now)).toEqual([expect.stringContaining('the medium is older')])
  })
})

test('the clock is suspected where many sources, and at least half of those that answered, say that dates are wrong', () => {
  const suspect = (...states: readonly SyncState[]): boolean => isClockSuspect(states)
  expect(suspect('expired', 'not_yet_valid', 'expired', 'ok', 'ok')).toBe(true)
  expect(suspect('expired', 'expired', 'expired', 'ok', 'ok', 'ok', 'ok')).toBe(false)
  expect(suspect('expired', 'expired')).toBe(false)
  expect(suspect('expired', 'expired', 'expired', 'ok', ...Array<SyncState>(9).fill('unreachable'))).toBe(true)
})

test('every state has its own sentence, and one that fails says what to do', () => {
  const said = SYNC_STATES.map(state => describeState(state, 'the detail'))
  expect(new Set(said).size).toBe(SYNC_STATES.length)
  for (const [at_, sentence] of said.entries()) {
    expect(sentence).toMatch(/^[A-Z].*the detail\..*/)
    if (!['ok', 'never'].includes(SYNC_STATES[at_] ?? '')) expect(sentence).toMatch(/the detail\. .*\.$/)
  }
})
