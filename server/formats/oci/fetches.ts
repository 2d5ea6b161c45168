import type { Fetches } from '../fetches.ts'
import { isName } from './names.ts'

const MANIFEST = /\/manifests\/[^/]+$/

/** `<name>/manifests/<tag or digest>`. Blobs are fetched behind it, and not those that a machine has. */
export const ociFetches: Fetches = {
  isFetch: path => MANIFEST.test(path),
  place(segments) {
    const name = segments.slice(0, -2).join('/')
    const reference = segments.at(-1) ?? ''
    if (segments.at(-2) !== 'manifests' || !isName(name)) return undefined
    return { name, version: reference, ...(reference.startsWith('sha256:') ? {} : { isReference: true }) }
  },
}
