import type { Found } from '../reader.ts'

/** What a reader knows beside name and version. */
type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'confidence' | 'unasked'>>

/** One row, or none where the name is no name. Source: package-url/purl-spec, hex */
export function hexFound(name: string, version: string, about: About, type = 'hex'): Found[] {
  if (!/^[a-z]\w*$/.test(name) || !/^v?\d\S*$/.test(version)) return []
  return [{ type, name, version: version.replace(/^v/, ''), confidence: 'certain', ...about }]
}
