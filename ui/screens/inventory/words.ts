import type { Reply } from '../../wire.ts'

/** A machine in the list, and one with the host key that it is trusted by. */
export type Machine = Reply<'GET /inventory/clients'>['items'][number]
export type MachineDetail = Reply<'GET /inventory/clients/{id}'>
export type Update = Reply<'GET /inventory/clients/{id}/updates'>['items'][number]

/** Its system without what everybody knows: `Debian 12`, not `Debian GNU/Linux 12 (bookworm)`. */
export const systemOf = ({ distro_pretty: pretty }: Pick<Machine, 'distro_pretty'>): string | undefined =>
  pretty?.replace(/ GNU\/Linux/, '').replace(/ \([^)]*\)$/, '')

interface Said {
  readonly word: string
  readonly icon: string
  readonly tone: string
}

const MINUTE = 60_000
/** How long ago, as short as a list needs it: `2 min`, `3 h`, `26 days`. */
export function ago(iso: string, now = new Date()): string {
  const minutes = Math.floor((now.getTime() - Date.parse(iso)) / MINUTE)
  if (minutes < 1) return 'just now'
  if (minutes < 90) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  if (hours < 48) return `${hours} h`
  return `${Math.round(hours / 24)} days`
}

/** Whether its stored host key is not the one that it shows now: then it is not asked any more. */
export const isBlocked = ({ last_error_code: code }: Pick<Machine, 'last_error_code'>): boolean =>
  code === 'inventory_host_key_changed'

/** Whether it waits for an admin to compare keys; a key that was trusted since leaves the last error as it was. */
export const isHeld = ({ known_host: host }: Pick<MachineDetail, 'known_host'>): boolean =>
  (host?.offered_fingerprint ?? null) !== null

/** When it was seen last; with a sign where that is not well. `late` in days. */
export function seenOf(machine: Machine, late: number, now = new Date()): Said | string {
  if (isBlocked(machine)) return { word: 'key changed', icon: 'fail', tone: 'failed' }
  if (machine.last_seen === null)
    return machine.last_scan_status === 'error'
      ? { word: 'no answer', icon: 'warn', tone: 'warned' }
      : { word: 'never', icon: 'unavailable', tone: 'unavailable' }
  const word = ago(machine.last_seen, now)
  const isLate = now.getTime() - Date.parse(machine.last_seen) > late * 86_400_000
  return isLate || machine.last_scan_status === 'error' ? { word, icon: 'warn', tone: 'warned' } : word
}

/** `39 of 45`; what nobody could tell is neither kept nor broken. */
export function complianceOf({ pass, fail, unknown }: Machine['compliance']): Said {
  const all = pass + fail + unknown
  if (all === 0) return { word: 'no rules', icon: 'unavailable', tone: 'unavailable' }
  if (fail > 0) return { word: `${pass} of ${all}`, icon: 'warn', tone: 'warned' }
  return unknown > 0
    ? { word: `${unknown} not known`, icon: 'unavailable', tone: 'unavailable' }
    : { word: `${pass} of ${all}`, icon: 'published', tone: 'published' }
}

export const REBOOT: Readonly<Record<Machine['reboot'], Said | string>> = {
  needed: { word: 'needed', icon: 'warn', tone: 'warned' },
  no: 'no',
  unknown: { word: 'unknown', icon: 'unavailable', tone: 'unavailable' },
}

export const UPDATE: Readonly<Record<Update['state'], Said>> = {
  here: { word: 'here', icon: 'published', tone: 'published' },
  in_review: { word: 'in review', icon: 'review', tone: 'review' },
  not_here: { word: 'not here', icon: 'unavailable', tone: 'unavailable' },
}

/** Whether all its findings are known: no finding of a machine is only good news then. */
export const isCovered = ({ coverage }: Pick<Machine, 'coverage'>): boolean => coverage === 'covered'

export const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, n) => sum + n, 0)

/** `SHA256:8fQ2 LkV1 …`, in groups, so that two people can compare it. */
export function hostKey(fingerprint: string): string {
  const [kind, digest = ''] = fingerprint.split(':')
  return `${kind}: ${digest.replace(/(.{4})(?=.)/g, '$1 ')}`
}
