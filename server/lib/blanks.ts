/**
 * Blanks as C knows them. JavaScript's `trim` and `\s` also remove U+00A0 and similar characters, which dpkg and apk
 * read as part of a name.
 */
const isBlank = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)

/** Removes blanks at the end. */
export function trimBlanksEnd(text: string): string {
  let end = text.length
  while (end > 0 && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(0, end)
}

/** Removes blanks at both ends. */
export function trimBlanks(text: string): string {
  let from = 0
  while (from < text.length && isBlank(text.charCodeAt(from))) from++
  return trimBlanksEnd(text.slice(from))
}
