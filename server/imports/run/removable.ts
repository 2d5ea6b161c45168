/** Which of the packages of a group may go, and which one keeps each of the others. */
export interface Removable {
  readonly goes: readonly number[]
  /** Place of a package that stays, and of one that needs it and stays too. */
  readonly stays: ReadonlyMap<number, number>
}

/**
 * Finds what nothing else needs.
 * @param needs  for each published package the places of those that it needs (`edgesOf`)
 * @param wanted  the places of those that are to go
 */
export function removable(needs: readonly (readonly number[])[], wanted: ReadonlySet<number>): Removable {
  const stays = new Map<number, number>()
  const front = [...needs.keys()].filter(at => !wanted.has(at))
  for (let by = front.pop(); by !== undefined; by = front.pop())
    for (const at of needs[by] ?? [])
      if (wanted.has(at) && !stays.has(at)) {
        stays.set(at, by)
        front.push(at)
      }
  return { goes: [...wanted].filter(at => !stays.has(at)), stays }
}
