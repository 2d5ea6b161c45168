/** A name for a licence text that is no SPDX expression. The same text always gets the same one. */
export function licenseRef(text: string): string {
  const slug = text
    .replace(/[^A-Za-z0-9.]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return `LicenseRef-${slug === '' ? 'text' : slug}-${(hash >>> 0).toString(16)}`
}
