import type { Fetches } from '../fetches.ts'
import { normalName, normalVersion, readFileName } from './names.ts'

const FILE = /\/files\/[^/]+\/[^/]+\.(?:whl|tar\.gz)$/

/** `files/<name>/<file>`: wheels and source releases. What is read beside them has an ending of its own. */
export const pypiFetches: Fetches = {
  isFetch: path => FILE.test(path),
  place([top, name = '', file = '', ...more]) {
    const named = top === 'files' && more.length === 0 ? readFileName(file) : undefined
    return named && { name: normalName(name), version: normalVersion(named.version), arch: named.arch }
  },
}
