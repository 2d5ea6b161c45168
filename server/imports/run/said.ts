import type { Telling } from '../../core/work.ts'
import type { ItemState, Planned } from './planned.ts'

/** What became of a package, and why where it is not published. */
export interface End {
  readonly state: ItemState
  readonly why?: string
}

const nameOf = ({ identity: { name, version, arch } }: Planned): string => `${name} ${version} (${arch})`
const LEVELS: Readonly<Record<ItemState, Telling['level']>> = {
  waiting: 'info',
  added: 'info',
  already: 'info',
  pending_review: 'warning',
  blocked: 'error',
  upstream_changed: 'error',
  failed: 'error',
}
const SAID: Readonly<Record<ItemState, string>> = {
  waiting: 'waits',
  added: 'is published',
  already: 'was here already',
  pending_review: 'is held for review',
  blocked: 'is blocked',
  upstream_changed: 'has other bytes upstream than here',
  failed: 'failed',
}

/** The line of the job's log about one package. */
export const sayOf = (item: Planned, { state, why }: End): Telling => ({
  level: LEVELS[state],
  message: `${nameOf(item)} ${SAID[state]}${why === undefined ? '.' : `: ${why}`}`,
})
