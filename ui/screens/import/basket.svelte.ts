import { currentSession } from '../../session.svelte.ts'

/** A package in the basket; the newest version where none is named. */
export interface Wish {
  readonly name: string
  readonly version?: string
}

/** Which packages clients are taken to have anyway. */
export type Base = 'none' | 'minbase' | 'upstream'

/** What is going to be imported together. It survives a change of screen, and only this window has it. */
export interface Basket {
  /** Undefined while it is empty: the first package says for which distribution. */
  readonly codename: string | undefined
  readonly wishes: readonly Wish[]
  readonly arch: string | undefined
  readonly recommends: boolean
  /** Absent: as the settings say. */
  readonly base: Base | undefined
  /** As it was typed; the first package names the group where it is empty. */
  readonly group: string
}

const EMPTY: Basket = {
  codename: undefined,
  wishes: [],
  arch: undefined,
  recommends: false,
  base: undefined,
  group: '',
}
let kept = $state.raw<{ readonly owner: string | undefined; readonly basket: Basket }>({
  owner: undefined,
  basket: EMPTY,
})

export function currentBasket(): Basket {
  return currentSession().me?.username === kept.owner ? kept.basket : EMPTY
}

export function changeBasket(change: Partial<Basket>): void {
  kept = { owner: currentSession().me?.username, basket: { ...currentBasket(), ...change } }
}

/** Puts a package in; another version of it takes the place of the one before. */
export function put(wish: Wish, codename: string): void {
  const { wishes, codename: before } = currentBasket()
  if (before !== undefined && before !== codename) return
  const at = wishes.findIndex(({ name }) => name === wish.name)
  changeBasket({ codename, wishes: at < 0 ? [...wishes, wish] : wishes.with(at, wish) })
}

export function takeOut(name: string): void {
  const rest = currentBasket().wishes.filter(one => one.name !== name)
  if (rest.length === 0) emptyBasket()
  else changeBasket({ wishes: rest })
}

export function emptyBasket(): void {
  kept = { owner: currentSession().me?.username, basket: EMPTY }
}

/** The name of the group that the basket becomes. */
export function groupOf({ group, wishes, codename }: Basket): string {
  const typed = group.trim()
  if (typed !== '') return typed
  const name = `${wishes[0]?.name ?? 'import'}-${codename ?? ''}`
  return name.replaceAll(/[^A-Za-z0-9_.+-]/g, '-').slice(0, 100)
}
