import type { Found } from '../reader.ts'
import { NO_RELEASE } from '../unasked.ts'

/** What a reader knows beside name and version. */
export type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'confidence' | 'needs' | 'unasked'>>

/** Splits `@scope/name` and `name`; undefined for anything else. Source: docs.npmjs.com, package.json, "name" */
export function splitName(fullName: string): { readonly namespace?: string; readonly name: string } | undefined {
  const [, namespace, name] = /^(?:(@[^/@\s]+)\/)?([^/@\s]+)$/.exec(fullName) ?? []
  if (name === undefined) return undefined
  return namespace === undefined ? { name } : { namespace, name }
}

/** One row, or none where the name is no name. A version that is an address (git, a tarball) names no release. */
export function npmFound(fullName: string, version: string, about: About): Found[] {
  const named = splitName(fullName)
  if (named === undefined || version === '') return []
  const release = /^[v=]?(\d\S*)$/.exec(version)?.[1]
  return [
    {
      type: 'npm',
      ...named,
      version: release,
      confidence: 'certain',
      ...about,
      ...(release === undefined ? { unasked: NO_RELEASE } : {}),
    },
  ]
}

/** A lock inside a dependency says what its authors wanted while they developed it, not what is installed. */
export const isInsideDependency = (path: string): boolean =>
  /(?:^|\/)(?:(?:node_modules|bower_components)|usr\/(?:share|lib)\/nodejs)\//.test(path)
