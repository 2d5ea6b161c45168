import type { Fetches } from '../fetches.ts'
import { versionIn } from './name.ts'

const TARBALL = /\/-\/[^/]+\.tgz$/

/** `<name>/-/<file>.tgz`, the name in one segment or two. */
export const npmFetches: Fetches = {
  isFetch: path => TARBALL.test(path),
  place(segments) {
    const file = segments.at(-1) ?? ''
    const name = segments.slice(0, -2).join('/')
    const version = segments.at(-2) === '-' && name !== '' ? versionIn(name, file) : undefined
    return version === undefined ? undefined : { name, version, arch: 'any' }
  },
}
