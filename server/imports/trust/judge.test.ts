import { describe, expect, test } from 'vitest'
import { AppError } from '../../core/errors.ts'
import { relPath } from '../../core/identity.ts'
import type { UpstreamRoot } from '../../formats/upstream.ts'
import { SYNC_STATES, type SyncState } from '../source.ts'
import { isClockSuspect, joinRoots, judgeRoot } from './judge.ts'
import { describeState, stateOf } from './states.ts'

const now = new Date('2026-11-21T12:00:00Z')
const at = (text: string): Date => new Date(`2026-${text}T00:00:00Z`)
const source = { security: false, kind: 'http', signed: true } as const
const root: UpstreamRoot = {
  path: relPath('dists/bookworm/InRelease'),
  sha256: 'b',
  signedBy: ['KEY'],
  at: at('11-20'),
  origin: 'Debian',
  codename: 'bookworm',
}
const known = { sha256: 'a', at: at('11-19'), origin: 'Debian', codename: 'bookworm' }

describe('a root that verified', () => {
  test('is new, or the same as before', () => {
    expect(judgeRoot({}, root, { source, now })).toEqual({ verdict: 'new', notes: [] })
    expect(judgeRoot(known, root, { source, now })).toEqual({ verdict: 'new', notes: [] })
    expect(judgeRoot({ ...known, sha256: 'b' }, root, { source, now })).toEqual({ verdict: 'same', notes: [] })
  })

  test('that is older than the one before is refused, unless an admin accepts it once', () => {
    const older = { ...root, at: at('11-18') }
    expect(judgeRoot(known, older, { source, now })).toMatchObject({ verdict: 'refused', state: 'replayed' })
    expect(judgeRoot(known, { ...root, at: undefined } as never, { source, now })).toMatchObject({ state: 'replayed' })
    expect(judgeRoot(known, older, { source, now, accepted: ['older'] })).toMatchObject({ verdict: 'new' })
    // nobody vouches for the date of an unsigned one
    expect(judgeRoot(known, older, { source: { ...source, signed: false }, now })).toMatchObject({ verdict: 'new' })
  })

  test('of another owner or release is refused, unless an admin accepts it once', () => {
    for (const changed of [{ origin: 'Evil' }, { codename: 'trixie' }]) {
      const judged = judgeRoot(known, { ...root, ...changed }, { source, now })
      expect(judged).toMatchObject({ verdict: 'refused', state: 'origin_changed' })
      expect(judgeRoot(known, { ...root, ...changed }, { source, now, accepted: ['origin'] })).toMatchObject({
        verdict: 'new',
      })
    }
  })

  test('of security updates that stands still for more than ten days has a note', () => {
    const still = { ...root, sha256: 'a', at: at('11-01') }
    expect(judgeRoot(known, still, { source: { ...source, security: true }, now })).toMatchObject({
      verdict: 'same',
      notes: [expect.stringContaining('Nothing has changed there since 2026-11-01')],
    })
    expect(judgeRoot(known, still, { source, now }).verdict).toBe('same')
  })

  test('past its end that was accepted has a note, and one of a medium says so', () => {
    const ended = { ...root, validUntil: at('11-10') }
    expect(judgeRoot({}, ended, { source, now })).toMatchObject({
      notes: [expect.stringContaining('accepted all the same')],
    })
    expect(judgeRoot({}, ended, { source: { ...source, kind: 'tree' }, now })).toMatchObject({
      notes: [expect.stringContaining('the medium is older')],
    })
  })

  test('of several architectures is one', () => {
    const other = { ...root, sha256: 'c', signedBy: ['KEY', 'OTHER'] }
    expect(joinRoots([root, other], text => `hash of ${text}`)).toMatchObject({
      sha256: 'hash of b\nc',
      signedBy: ['KEY', 'OTHER'],
    })
    expect(joinRoots([root], () => '')).toBe(root)
    expect(joinRoots([], () => '')).toBeUndefined()
  })
})

test('the clock is suspected where many sources, and at least half, say that dates are wrong', () => {
  const suspect = (...states: readonly SyncState[]): boolean => isClockSuspect(states)
  expect(suspect('expired', 'not_yet_valid', 'expired', 'ok', 'ok')).toBe(true)
  expect(suspect('expired', 'expired', 'expired', 'ok', 'ok', 'ok', 'ok')).toBe(false)
  expect(suspect('expired', 'expired')).toBe(false)
})

test('every state has its own sentence, and one that fails says what to do', () => {
  const said = SYNC_STATES.map(state => describeState(state, 'the detail'))
  expect(new Set(said).size).toBe(SYNC_STATES.length)
  for (const [at_, sentence] of said.entries()) {
    expect(sentence).toMatch(/^[A-Z].*the detail\..*/)
    if (SYNC_STATES[at_] !== 'ok') expect(sentence).toMatch(/the detail\. .*\.$/)
  }
})

test('a root that is not there is gone after three days, and not before', () => {
  const error = new AppError('upstream_refused', { path: 'InRelease', fault: 'missing', why: 'it is not there' })
  expect(stateOf(error, { now })).toMatchObject({ state: 'unreachable', isMissing: true })
  expect(stateOf(error, { now, missingSince: at('11-19') })).toMatchObject({ state: 'unreachable' })
  expect(stateOf(error, { now, missingSince: at('11-18') })).toMatchObject({ state: 'gone' })
  expect(stateOf(error, { now, missingSince: at('11-01'), isIndex: true })).toMatchObject({ state: 'mirror_syncing' })
})
