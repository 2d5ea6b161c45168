import type { Found } from '../reader.ts'
import { NO_RELEASE } from '../unasked.ts'

/** What a reader knows beside name and version. */
type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'needs' | 'unasked'>>

/**
 * One row, or none where the name is no name. Versions may have a `v`; a branch (`dev-main`, `1.x-dev`) is no release.
 * Source: getcomposer.org, versions and constraints
 */
export function composerFound(fullName: string, written: string, about: About): Found[] {
  const [, namespace, name] = /^([^/\s]+)\/([^/\s]+)$/.exec(fullName) ?? []
  if (namespace === undefined || name === undefined || written === '') return []
  const version = /^v?(\d\S*)$/i.exec(written)?.[1] ?? written
  const isBranch = /^dev-|-dev$/.test(version)
  const unasked = isBranch ? { unasked: NO_RELEASE } : {}
  return [{ type: 'composer', namespace, name, version, confidence: 'certain', ...about, ...unasked }]
}
