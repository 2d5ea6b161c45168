import { fieldsOf } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found, Reader } from '../reader.ts'
import { textOf, textReader } from '../text-file.ts'

/** `https://github.com/apple/swift-nio.git` and `git@github.com:apple/swift-nio` are one place. */
function placeOf(location: string): Pick<Found, 'namespace' | 'name'> | undefined {
  const [, host = '', path = ''] =
    /^(?:[a-z+]+:\/\/)?(?:[^@/\s]+@)?([\w.-]+)(?::\d+)?[:/]([\w./~-]+)$/.exec(location) ?? []
  const segments = `${host}/${path.replace(/\.git$/, '')}`.split('/').filter(segment => segment !== '')
  const name = segments.pop()
  return name === undefined || segments.length === 0 ? undefined : { namespace: segments.join('/').toLowerCase(), name }
}

function foundOf(pin: unknown): Found[] {
  const { location, repositoryURL, state } = fieldsOf(pin)
  const place = placeOf(textOf(location) || textOf(repositoryURL))
  const version = textOf(fieldsOf(state).version)
  if (place === undefined || version === '') return []
  return [{ type: 'swift', ...place, version, presence: 'declared', rule: 'package-resolved', confidence: 'certain' }]
}

/** `Package.resolved`: pins in an object until version 1, at the top since. Source: package-url/purl-spec, swift */
const packageResolved = textReader({
  id: 'package-resolved',
  path: /(?:^|\/)Package\.resolved$/,
  *read(text) {
    const { pins, object } = parseJsonObject(text)
    const list: unknown = pins ?? fieldsOf(object).pins
    if (Array.isArray(list)) for (const pin of list) yield* foundOf(pin)
  },
})

/** What programs of Swift want; compiled ones do not say what is in them. */
export const swiftReaders: readonly Reader[] = [packageResolved]
