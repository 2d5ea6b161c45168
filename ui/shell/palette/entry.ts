/** One line of the palette. Either it leads somewhere or it does something. */
export interface Entry {
  /** Differs from every other in the list. */
  readonly id: string
  readonly icon: string
  readonly title: string
  /** A version, in the font of code. */
  readonly code?: string | undefined
  /** Dimmed, behind the title. */
  readonly note?: string | undefined
  /** At the right end. */
  readonly end?: string | undefined
  /** The key that does the same on this screen. */
  readonly key?: string | undefined
  readonly href?: string
  readonly act?: () => void
  /** Why the signed-in person may not; the line stays and says so. */
  readonly lacks?: string | undefined
}

/** Lines under one heading. `total` where there are more than are shown. */
export interface Group {
  readonly heading: string
  readonly entries: readonly Entry[]
  readonly total?: number
}

/** True when each word of what is sought is in the text, in any case. */
export function fitsWords(text: string, sought: string): boolean {
  const low = text.toLowerCase()
  return sought
    .toLowerCase()
    .split(/\s+/)
    .every(word => low.includes(word))
}

/** Whether it leads to a screen whose name begins with what is sought. */
export const isNamed = ({ id, title }: Pick<Entry, 'id' | 'title'>, sought: string): boolean =>
  id.startsWith('screen ') && title.toLowerCase().startsWith(sought.toLowerCase())

/** A text around the first place where it says what is sought: `['', 'ope', 'nssl']`. */
export function markedIn(text: string, sought: string): readonly [before: string, hit: string, after: string] {
  const at = sought === '' ? -1 : text.toLowerCase().indexOf(sought.toLowerCase())
  if (at < 0) return [text, '', '']
  return [text.slice(0, at), text.slice(at, at + sought.length), text.slice(at + sought.length)]
}
