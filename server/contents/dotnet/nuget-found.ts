import type { Found } from '../reader.ts'

/** What a reader knows beside name and version. */
type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'needs' | 'unasked'>>

/** One row, or none where the name is no name. Source: package-url/purl-spec, nuget */
export function nugetFound(name: string, version: string, about: About): Found[] {
  if (!/^[\w.-]+$/.test(name) || !/^\d\S*$/.test(version)) return []
  return [{ type: 'nuget', name, version, confidence: 'certain', ...about }]
}
