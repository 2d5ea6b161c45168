import { expect, test } from 'vitest'
import type { Preferences } from './bridge.ts'
import { createNotices, type Happening } from './notices.ts'
import { WORDS, type Word } from './words.ts'
import type { Clock, Message } from './ports.ts'

/** A clock that goes when it is told to. */
function handClock(): Clock & { go(ms: number): void } {
  let now = 1_000_000
  let waiting: { at: number; run: () => void }[] = []
  return {
    now: () => new Date(now),
    every: () => () => undefined,
    after: (ms, run) => {
      const one = { at: now + ms, run }
      waiting.push(one)
      return () => {
        waiting = waiting.filter(other => other !== one)
      }
    },
    go: ms => {
      now += ms
      const due = waiting.filter(({ at }) => at <= now)
      waiting = waiting.filter(({ at }) => at > now)
      for (const { run } of due) run()
    },
  }
}

function start(isSupported = true) {
  const clock = handClock()
  const shown: Message[] = []
  const opened: string[] = []
  const words: Record<Word, string> = { ...WORDS }
  const preferences: Preferences = {
    notices: { held: true, deadline: true, backup: true, sync: true },
    stay_signed_in: true,
  }
  const notices = createNotices({
    notify: { isSupported, show: message => shown.push(message) },
    clock,
    preferences: () => preferences,
    words: () => words,
    open: (id, hash) => opened.push(`${id} ${hash}`),
  })
  return { clock, shown, opened, preferences, words, notices }
}
const held = (subject: string, id = 'a1'): Happening => ({
  kind: 'held',
  appliance: { id, name: `box ${id}` },
  subject,
  isBad: false,
})

test('is in the words of now', () => {
  const { clock, shown, words, notices } = start()
  words.held_several = '# Pakete warten auf Prüfung'
  words.and_more = 'und # weitere'
  for (const name of ['curl 1', 'git 2', 'vim 3', 'jq 4', 'less 5']) notices.happened(held(name))
  clock.go(4000)
  expect(shown.map(({ title, body }) => [title, body])).toEqual([
    ['5 Pakete warten auf Prüfung', 'box a1: curl 1, git 2, vim 3 und 2 weitere'],
  ])
})

test('what comes together is one message, which names three and counts the rest', () => {
  const { clock, shown, opened, notices } = start()
  for (const name of ['curl 1', 'git 2', 'vim 3', 'jq 4', 'jq 4']) notices.happened(held(name))
  expect(shown).toEqual([])
  clock.go(4000)
  expect(shown.map(({ title, body }) => [title, body])).toEqual([
    ['4 packages wait for review', 'box a1: curl 1, git 2, vim 3 and 1 more'],
  ])
  shown[0]?.opened()
  expect(opened).toEqual(['a1 #/review'])
})

test('a storm is one message a minute for each appliance', () => {
  const { clock, shown, notices } = start()
  for (let n = 0; n < 600; n++) {
    notices.happened(held(`p${n} 1`))
    notices.happened(held(`q${n} 1`, 'a2'))
    clock.go(200)
  }
  // two minutes: at four seconds, a minute later, and one is on its way
  expect(shown.length).toBeLessThanOrEqual(6)
  expect(new Set(shown.map(({ body }) => body.slice(0, 6)))).toEqual(new Set(['box a1', 'box a2']))
})

test('each kind is its own, and says whether it went well', () => {
  const { clock, shown, notices } = start()
  const of = (kind: Happening['kind'], subject: string, isBad: boolean): void =>
    notices.happened({ kind, appliance: { id: 'a1', name: 'box' }, subject, isBad })
  of('sync', 'debian-security', false)
  of('sync', 'vendor', true)
  of('backup', 'The disk is full.', true)
  of('deadline', 'curl 1', true)
  clock.go(4000)
  expect(shown.map(({ title }) => title).sort()).toEqual([
    'A backup failed',
    'A deadline ends within a day',
    'A synchronisation failed',
    'A synchronisation is done',
  ])
})

test('a kind that is switched off is silent, also when it waited already', () => {
  const { clock, shown, preferences, notices } = start()
  notices.happened(held('curl 1'))
  preferences.notices.held = false
  notices.happened(held('git 1'))
  clock.go(60_000)
  expect(shown).toEqual([])
})

test('where the system shows no messages, none are made', () => {
  const { clock, shown, notices } = start(false)
  notices.happened(held('curl 1'))
  clock.go(60_000)
  expect(shown).toEqual([])
})
