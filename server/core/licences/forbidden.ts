import { editDistance } from '../../lib/edit-distance.ts'
import { isLicenceRef, licenceId } from './ids.ts'
import { LICENCE_IDS } from './spdx-ids.ts'

/** The entries of a list as an admin writes it: `AGPL-*, SSPL-1.0`. */
export const forbiddenIn = (text: string): readonly string[] => text.split(/[\s,]+/).filter(word => word !== '')

function nearest(word: string): string | undefined {
  const wanted = word.toLowerCase()
  const begins = LICENCE_IDS.filter(id => id.toLowerCase().startsWith(wanted))
  if (wanted.length > 1 && begins[0] !== undefined) return begins.length > 1 ? `${word}*` : begins[0]
  const most = Math.max(2, Math.floor(wanted.length / 3))
  const [best] = LICENCE_IDS.map(id => ({ id, far: editDistance(wanted, id.toLowerCase(), most) }))
    .filter(({ far }) => far <= most)
    .toSorted((a, b) => a.far - b.far)
  return best?.id
}

/** What is wrong with one entry; undefined where it names a licence, or the beginning of some. */
function complain(entry: string): string | undefined {
  const isRange = entry.endsWith('*')
  const word = isRange ? entry.slice(0, -1) : entry
  if (!/^[A-Za-z0-9][A-Za-z0-9.:+-]*$/.test(word))
    return `${JSON.stringify(entry)} is no identifier: letters, digits, dots, hyphens and + may be in it, and * at its end`
  const begins = word.toLowerCase()
  const isKnown = isRange
    ? begins.startsWith('licenseref-') || LICENCE_IDS.some(id => id.toLowerCase().startsWith(begins))
    : licenceId(word) !== undefined || isLicenceRef(word)
  if (isKnown) return undefined
  const near = isRange ? undefined : nearest(word)
  const instead = near === undefined ? '' : `; ${near} is`
  return `${entry} is no licence of the SPDX list (https://spdx.org/licenses)${instead}`
}

/** Why a list of forbidden licences cannot be taken, in words that go on from its name; undefined where it can. */
export function complainForbidden(text: string): string | undefined {
  return forbiddenIn(text)
    .map(complain)
    .find(why => why !== undefined)
}
