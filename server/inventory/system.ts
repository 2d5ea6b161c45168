import type { Repositories } from '../core/repository.ts'

/** What a machine is matched by: its system's name and the format of its packages. */
export interface MachineSystem {
  readonly scanner: string | null
  readonly format: string | null
  /** The distribution that an admin named for it. */
  readonly wanted: string | null
}

/** The distribution here that a machine's updates come from: the one that was named, else that of its system. */
export function distributionFor(
  { scanner, format, wanted }: MachineSystem,
  { all }: Pick<Repositories, 'all'>,
): string | null {
  if (wanted !== null) return wanted
  if (scanner === null) return null
  const fitting = all().filter(one => one.scanner === scanner && one.format === format)
  return (fitting.find(one => one.basedOn === undefined) ?? fitting[0])?.codename ?? null
}
