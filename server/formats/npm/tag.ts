/**
 * Why this cannot be a tag, or undefined: what reads as a range would be taken for one. Source: docs.npmjs.com, npm
 * dist-tag, "Caveats"
 */
export function complainTag(tag: string): string | undefined {
  if (tag.length > 100) return 'a tag has at most 100 characters'
  if (/^v?\d/i.test(tag) || /^x$/i.test(tag)) return 'a tag that begins as a version would be read as a range'
  return /^[A-Za-z][\w.-]*$/.test(tag) ? undefined : 'a tag has letters, digits, `-`, `.` and `_`, and a letter first'
}
