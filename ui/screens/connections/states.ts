import type { Connection } from '../../host.ts'
import { day, plural } from '../../show.ts'

interface Standing {
  readonly icon: string
  readonly tone: string
  readonly word: string
}

/** How an appliance stands, in a word that needs no colour. */
export function standingOf({ state, reached_at: at }: Connection): Standing {
  switch (state) {
    case 'healthy':
      return { icon: 'published', tone: 'ok-c', word: 'healthy' }
    case 'degraded':
      return { icon: 'warn', tone: 'warn-c', word: 'degraded' }
    case 'unhealthy':
      return { icon: 'fail', tone: 'danger-c', word: 'unhealthy' }
    case 'starting':
      return { icon: 'run', tone: 'dim', word: 'starting' }
    case 'changed':
      return { icon: 'shieldx', tone: 'danger-c', word: 'another identity' }
    case 'expired':
      return { icon: 'shieldx', tone: 'danger-c', word: 'certificate not valid now' }
    case 'wrong_name':
      return { icon: 'shieldx', tone: 'danger-c', word: 'certificate for another name' }
    case 'unreachable':
      return { icon: 'wifi', tone: 'dim', word: at === null ? 'not reached yet' : `not reached since ${day(at)}` }
    case 'unknown':
      return { icon: 'wait', tone: 'dim', word: 'asking' }
  }
}

/** How far its clock is from this computer's, in a sentence; nothing where both agree. */
export function clockWords(aheadS: number | null): string | undefined {
  if (aheadS === null || aheadS === 0) return undefined
  const s = Math.abs(aheadS)
  const much =
    s < 90
      ? `${s} s`
      : s < 5400
        ? `${Math.round(s / 60)} min`
        : s < 172_800
          ? `${Math.round(s / 3600)} h`
          : plural(Math.round(s / 86_400), ['# day', '# days'])
  return aheadS > 0 ? `its clock is ${much} ahead of this computer's` : `its clock is ${much} behind this computer's`
}

/** `gatehouse-01.nordwerk.lan` of `https://gatehouse-01.nordwerk.lan`. */
export const hostOf = (origin: string): string => origin.replace(/^https:\/\//, '')
