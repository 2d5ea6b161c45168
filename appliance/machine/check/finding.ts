import type { MachineView } from '../../../server/machine/protocol.ts'
import type { Ports } from '../ports.ts'

/** Something that is not as it should be, or could not be looked at (`unknown`), and the way out. */
export type Finding = MachineView['findings'][number]
/** What it finds of one thing; nothing where that is as it should be. */
export type Look = (ports: Ports) => Promise<readonly Finding[]>

const of =
  (mark: Finding['mark']) =>
  (what: string, said: string, way_out: string): Finding => ({ what, mark, said, way_out })
export const bad = of('bad')
export const warning = of('warning')
export const unknown = of('unknown')

/** At most so many names in a sentence. */
export const some = (names: readonly string[], most = 4): string =>
  names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`
