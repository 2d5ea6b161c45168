import type { Installed } from './package-lists.ts'

/** A package that came, went, or has another version. Null: there was none, or there is none any more. */
export interface Change {
  readonly name: string
  readonly arch: string
  readonly from: string | null
  readonly to: string | null
}

/** What became of a list of packages. */
export interface Changes {
  readonly added: readonly Installed[]
  readonly removed: readonly Pick<Installed, 'name' | 'version' | 'arch'>[]
  readonly said: readonly Change[]
  readonly counts: { readonly added: number; readonly removed: number; readonly changed: number }
}

type Named = Pick<Installed, 'name' | 'version' | 'arch'>
const keyOf = ({ name, version, arch }: Named): string => `${name}\t${version}\t${arch}`
const placeOf = ({ name, arch }: Named): string => `${name}\t${arch}`

/** Compares two lists. One that went and one that came in the same place are one change. Pure. */
export function compareLists(before: readonly Named[], now: readonly Installed[]): Changes {
  const [had, has] = [new Set(before.map(keyOf)), new Set(now.map(keyOf))]
  const added = now.filter(one => !had.has(keyOf(one)))
  const removed = before.filter(one => !has.has(keyOf(one)))
  const went = new Map<string, Named[]>()
  for (const one of removed) went.set(placeOf(one), [...(went.get(placeOf(one)) ?? []), one])
  const said = added.map((one): Change => {
    const earlier = went.get(placeOf(one))?.shift()
    return { name: one.name, arch: one.arch, from: earlier?.version ?? null, to: one.version }
  })
  const gone = [...went.values()]
    .flat()
    .map(({ name, arch, version }): Change => ({ name, arch, from: version, to: null }))
  return {
    added,
    removed,
    said: [...said, ...gone],
    counts: {
      added: said.filter(({ from }) => from === null).length,
      removed: gone.length,
      changed: said.filter(({ from }) => from !== null).length,
    },
  }
}
