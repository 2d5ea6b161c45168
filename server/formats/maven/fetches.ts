import { isRefusal } from '../../core/errors.ts'
import type { Fetches } from '../fetches.ts'
import { nameOf } from './coordinates.ts'
import { placeOf, type Place } from './place.ts'

const FILE = /\/[^/]+\.[A-Za-z0-9]+$/
/** Lists, checksums, signatures, and Gradle's description of a version. */
const NO_ARTIFACT = /(?:\/maven-metadata\.xml|\.(?:md5|sha1|sha256|sha512|asc|sig|sigstore|sigstore\.json|module))$/
/** What a development environment shows of an artifact. */
const BESIDE = new Set(['sources', 'javadoc'])

function readPlace(segments: readonly string[]): Place | undefined {
  try {
    return placeOf(segments)
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/**
 * Artifacts by their addresses. One build reads a version's pom and fetches its jar: the pom is a download only of a
 * version that is nothing else, as a parent's.
 */
export const mavenFetches: Fetches = {
  isFetch: path => FILE.test(path) && !NO_ARTIFACT.test(path),
  place(segments) {
    const place = readPlace(segments)
    if (place?.kind !== 'file' || place.checksum !== undefined) return undefined
    const isPom = place.extension === 'pom' && place.classifier === ''
    return {
      name: nameOf(place),
      version: place.version,
      file: place.filename,
      isBeside: isPom || BESIDE.has(place.classifier),
    }
  },
}
