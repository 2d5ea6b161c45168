import type { Found } from '../reader.ts'
import { ELSEWHERE } from '../unasked.ts'

type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'needs' | 'unasked' | 'confidence'>>

/** One row. Source: package-url/purl-spec, golang */
export function moduleFound(path: string, version: string | undefined, about: About): Found {
  const slash = path.lastIndexOf('/')
  return {
    type: 'golang',
    ...(slash === -1 ? {} : { namespace: path.slice(0, slash) }),
    name: path.slice(slash + 1),
    version,
    confidence: 'certain',
    ...about,
  }
}

/** What a module is replaced with: a path, and a version unless that is a folder. */
export type Other = readonly (string | undefined)[]

/** A module, or what it is replaced with; a folder that replaces it has no version. */
export function resolved([path, version]: readonly [string, string], [to, other]: Other, about: About): Found {
  if (to === undefined) return moduleFound(path, version, about)
  return other === undefined
    ? moduleFound(path, undefined, { ...about, unasked: ELSEWHERE })
    : moduleFound(to, other, about)
}
