import type { NoticeKind, Preferences } from './bridge.ts'
import type { Clock, Notify } from './ports.ts'
import { filled, type Words } from './words.ts'

/** Something that happened on an appliance and that a person may want to hear of. */
export interface Happening {
  readonly kind: NoticeKind
  /** The appliance's id and its name. */
  readonly appliance: { readonly id: string; readonly name: string }
  /** What it is about, for people: `curl 7.88.1-10`, `debian-security`. */
  readonly subject: string
  readonly isBad: boolean
}

/** Messages of the system, several of one kind and appliance in one. */
export interface Notices {
  happened(happening: Happening): void
}

/** What comes within this time is told together. */
const TOGETHER_MS = 4000
/** At most one message of a kind and appliance in this time; what comes meanwhile is told at its end. */
const APART_MS = 60_000
const NAMED = 3
const MOST_WAITING = 1000
const LONGEST_NAME = 120

/** Heading for several of one kind. */
function titleOf(words: Words, kind: NoticeKind, n: number, areBad: boolean): string {
  const what = kind === 'sync' && areBad ? 'failed_sync' : kind
  return filled(words[`${what}_${n === 1 ? 'one' : 'several'}`], n)
}

/** Where a press on the message leads. */
const PLACES: Readonly<Record<NoticeKind, string>> = {
  held: '#/review',
  deadline: '#/review',
  backup: '#/backups',
  sync: '#/import?tab=sources',
}

export interface NoticeNeeds {
  readonly notify: Notify
  readonly clock: Clock
  readonly preferences: () => Preferences
  readonly words: () => Words
  /** Shows a place of an appliance in the window. */
  readonly open: (appliance: string, hash: string) => void
}

export function createNotices({ notify, clock, preferences, words, open }: NoticeNeeds): Notices {
  const waiting = new Map<string, Happening[]>()
  const toldAt = new Map<string, number>()

  function tell(key: string): void {
    const all = waiting.get(key) ?? []
    waiting.delete(key)
    const [first] = all
    // switched off while it waited
    if (first === undefined || !preferences().notices[first.kind]) return
    toldAt.set(key, clock.now().getTime())
    const subjects = [...new Set(all.map(({ subject }) => subject))]
    const more = subjects.length - NAMED
    const rest = more > 0 ? ` ${filled(words().and_more, more)}` : ''
    notify.show({
      title: titleOf(words(), first.kind, subjects.length, first.isBad),
      body: `${first.appliance.name}: ${subjects.slice(0, NAMED).join(', ')}${rest}`,
      opened: () => open(first.appliance.id, PLACES[first.kind]),
    })
  }
  return {
    happened: happening => {
      const { kind, appliance, isBad } = happening
      const cut = { ...happening, subject: happening.subject.slice(0, LONGEST_NAME) }
      if (!notify.isSupported || !preferences().notices[kind]) return
      const key = `${appliance.id} ${kind} ${isBad ? 'bad' : 'good'}`
      const known = waiting.get(key)
      if (known !== undefined) {
        if (known.length < MOST_WAITING) known.push(cut)
        return
      }
      waiting.set(key, [cut])
      const rest = (toldAt.get(key) ?? -Infinity) + APART_MS - clock.now().getTime()
      clock.after(Math.max(TOGETHER_MS, rest), () => tell(key))
    },
  }
}
