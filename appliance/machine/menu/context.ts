import type { Ask } from '../ask.ts'
import type { Ports } from '../ports.ts'
import type { Terminal } from './terminal.ts'

/** What each choice of the menu works with. */
export interface Menu {
  readonly terminal: Terminal
  readonly ports: Ports
  readonly ask: Ask
}
