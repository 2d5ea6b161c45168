import { Type } from '@sinclair/typebox'
import { openKept } from './kept.ts'
import { WORDS, type Words } from './words.ts'

/** The words that are shown now. */
export interface ShownWords {
  now(): Words
  /** Takes those of a page. */
  tell(words: Words): void
  /** Calls back when they are others. */
  onTold(listener: () => void): void
}

/** What an earlier version kept may lack some, and have some that nobody shows any more. */
const KeptWords = Type.Record(Type.String(), Type.String({ maxLength: 120 }))

/** Those that the last page told, also at the next start, before there is a page; English before the first. */
export async function openShownWords(path: string): Promise<ShownWords> {
  const kept = await openKept(path, KeptWords, {})
  const listeners = new Set<() => void>()
  const now = (): Words => ({ ...WORDS, ...kept.value })
  return {
    now,
    tell: words => {
      const before = now()
      if ((Object.keys(words) as (keyof Words)[]).every(word => words[word] === before[word])) return
      void kept.set({ ...words }).catch(() => undefined) // the next page tells them again
      for (const listener of listeners) listener()
    },
    onTold: listener => void listeners.add(listener),
  }
}
