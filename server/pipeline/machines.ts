import type { PackageKind } from '../core/manifest.ts'
import type { Offered, Relation } from '../core/relation.ts'
import type { Distribution } from '../core/repository.ts'
import type { Format } from '../formats/format.ts'

type Archs = Pick<Distribution, 'archs' | 'neutral'>

/**
 * The architectures of machines that a package is for: its own one, or all where it fits all, as sources do. A registry
 * knows no machines.
 */
export function machinesOf(
  { archs, neutral }: Archs,
  { arch, kind }: { readonly arch: string; readonly kind: PackageKind | undefined },
): readonly string[] {
  return archs.length > 0 && (kind === 'source' || neutral.includes(arch)) ? archs : [arch]
}

/**
 * Whether an offer meets a need on a machine of one architecture. A client reads the index of its own architecture, in
 * which the neutral packages are, too; what counts beyond that is for the format to say.
 */
export function meets(
  { satisfies, multiArch }: Pick<Format, 'satisfies' | 'multiArch'>,
  { archs, neutral }: Archs,
  machine: string,
): (have: Offered, need: Relation) => boolean {
  return (have, need) => {
    const arch = archs.length === 0 || neutral.includes(have.arch) ? machine : have.arch
    return (
      have.name === need.name &&
      (multiArch?.counts({ arch, reach: have.reach }, need, machine) ?? arch === machine) &&
      satisfies(have, need)
    )
  }
}

/** The result for the machine that lacks least: a package for all of them is of use where it can be installed. */
export function onBestMachine<Result>(
  machines: readonly string[],
  look: (machine: string) => { readonly result: Result; readonly lacks: number },
): Result {
  const [first, ...others] = machines.map(look)
  if (first === undefined) throw new Error('a distribution without architectures')
  return others.reduce((best, one) => (one.lacks < best.lacks ? one : best), first).result
}
