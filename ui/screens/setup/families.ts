import type { DistributionCard } from '../../wire.ts'

/** A few releases of a family are enough to begin with: the ones that live longest. */
const FEW = 2

/** `Ubuntu` of `Ubuntu 22.04 LTS`: what people call their clients. */
export const familyOf = ({ label }: Pick<DistributionCard, 'label'>): string => label.split(' ')[0] ?? label

export const familiesOf = (all: readonly DistributionCard[]): readonly string[] => [...new Set(all.map(familyOf))]

/** What is ticked for clients of a family: its releases that are supported for longest. */
export function sensible(family: string, all: readonly DistributionCard[]): readonly string[] {
  return all
    .filter(one => familyOf(one) === family)
    .toSorted((a, b) => (b.end_of_life ?? '9999').localeCompare(a.end_of_life ?? '9999'))
    .slice(0, FEW)
    .map(one => one.codename)
}
