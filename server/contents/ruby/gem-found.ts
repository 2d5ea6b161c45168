import type { Found } from '../reader.ts'

/** What a reader knows beside name and version. */
type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'confidence' | 'unasked'>>

/** One row, or none where the name is no name. Platform `ruby` means any. Source: package-url/purl-spec, gem */
export function gemFound(name: string, version: string, platform: string, about: About): Found[] {
  if (!/^[A-Za-z0-9._-]+$/.test(name) || !/^\d[\w.]*$/.test(version)) return []
  const qualifiers = platform === '' || platform === 'ruby' ? {} : { qualifiers: { platform } }
  return [{ type: 'gem', name, version, ...qualifiers, confidence: 'certain', ...about }]
}
