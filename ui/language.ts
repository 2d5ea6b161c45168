/** The languages of the console; what each is called in itself. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const KEY = 'gatehouse.language'
const isLanguage = (name: string | null): name is Language => name !== null && name in LANGUAGES

function kept(): Language | undefined {
  try {
    const value = localStorage.getItem(KEY)
    return isLanguage(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The first of the browser's languages that the console speaks. */
export function firstSpoken(wanted: readonly string[]): Language {
  return wanted.map(one => one.slice(0, 2).toLowerCase()).find(isLanguage) ?? 'en'
}

const isPage = typeof document !== 'undefined'

/** The language of this page, from its first line to its last. */
export const language: Language = isPage ? (kept() ?? firstSpoken(navigator.languages)) : 'en'
if (isPage) document.documentElement.lang = language

/** Kept for this browser. The page begins again: all of it speaks one language. */
export function speak(next: Language): void {
  if (next === language) return
  try {
    localStorage.setItem(KEY, next)
  } catch {
    return // storage may be forbidden; the browser's language stays
  }
  location.reload()
}
