/** Control characters, separators of lines, what turns the direction of writing, and what nobody sees. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu
const MOST_SHOWN = 60

/** Whether a name is UTF-8, has no characters that deceive or that nobody sees, and is not overlong. */
export function isPlainName(name: Buffer): boolean {
  const text = name.toString('utf8')
  UNSEEN.lastIndex = 0
  return name.length > 0 && name.length <= 255 && Buffer.from(text).equals(name) && !UNSEEN.test(text)
}

/** A name as it may be shown anywhere: `a\u{a}b` for one with a line feed, and not longer than a line. */
export function escaped(name: Buffer | string): string {
  const shown = Buffer.from(name)
    .toString('utf8')
    .replace(UNSEEN, one => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`)
  const letters = [...shown]
  return letters.length <= MOST_SHOWN ? shown : `${letters.slice(0, MOST_SHOWN).join('')}…`
}
