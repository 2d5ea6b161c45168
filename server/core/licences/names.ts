import { licenceId } from './ids.ts'

// Names of licences as packages write them, beside the identifiers of SPDX.

const GNU: Readonly<Record<string, string>> = {
  'affero general public': 'AGPL',
  'affero gpl': 'AGPL',
  'affero': 'AGPL',
  'agpl': 'AGPL',
  'general public': 'GPL',
  'gpl': 'GPL',
  'lesser general public': 'LGPL',
  'library general public': 'LGPL',
  'library or lesser general public': 'LGPL',
  'lesser gpl': 'LGPL',
  'lgpl': 'LGPL',
  'free documentation': 'GFDL',
  'fdl': 'GFDL',
  'gfdl': 'GFDL',
}
/** Of a name without a version: any version may be chosen, so the first one says it. GNU's Affero began with 3. */
const FIRST: Readonly<Record<string, string>> = { AGPL: '3.0', GPL: '1.0', LGPL: '2.0', GFDL: '1.1' }
const GNU_NAME =
  /^(affero general public|affero gpl|affero|agpl|general public|gpl|lesser general public|library general public|library or lesser general public|lesser gpl|lgpl|free documentation|gfdl|fdl)(?: (agpl|lgpl|gpl|gfdl|fdl))? ?(\d(?:\.\d)?)? ?(\+|only)?$/

/** What a key means; several: one of them, and the name does not say which. */
const KEYS: Readonly<Record<string, string>> = {
  'apache 2': 'Apache-2.0',
  'asl 2': 'Apache-2.0',
  'al 2': 'Apache-2.0',
  'apache 1.1': 'Apache-1.1',
  'asl 1.1': 'Apache-1.1',
  'apache': 'Apache-1.0 Apache-1.1 Apache-2.0',
  'mit': 'MIT',
  'expat': 'MIT',
  'mit expat': 'MIT',
  'mit x11': 'MIT',
  'x11 mit': 'MIT',
  'bouncy castle': 'MIT',
  'mit no attribution': 'MIT-0',
  'bsd': 'BSD-2-Clause BSD-3-Clause BSD-4-Clause',
  'bsd 2': 'BSD-2-Clause',
  '2 clause bsd': 'BSD-2-Clause',
  'simplified bsd': 'BSD-2-Clause',
  'freebsd': 'BSD-2-Clause',
  'bsd 3': 'BSD-3-Clause',
  '3 clause bsd': 'BSD-3-Clause',
  'bsd new': 'BSD-3-Clause',
  'new bsd': 'BSD-3-Clause',
  'modified bsd': 'BSD-3-Clause',
  'revised bsd': 'BSD-3-Clause',
  'edl 1': 'BSD-3-Clause',
  'eclipse distribution 1': 'BSD-3-Clause',
  'bsd 4 clause': 'BSD-4-Clause',
  'original bsd': 'BSD-4-Clause',
  'iscl': 'ISC',
  'mozilla public 1': 'MPL-1.0',
  'mozilla public 1.1': 'MPL-1.1',
  'mpl 1.1': 'MPL-1.1',
  'mozilla public 2': 'MPL-2.0',
  'mpl 2': 'MPL-2.0',
  'mpl': 'MPL-1.0 MPL-1.1 MPL-2.0',
  'mozilla public': 'MPL-1.0 MPL-1.1 MPL-2.0',
  'eclipse public 1': 'EPL-1.0',
  'epl 1': 'EPL-1.0',
  'eclipse public 2': 'EPL-2.0',
  'epl 2': 'EPL-2.0',
  'epl': 'EPL-1.0 EPL-2.0',
  'eclipse public': 'EPL-1.0 EPL-2.0',
  'common public 1': 'CPL-1.0',
  'common development and distribution 1': 'CDDL-1.0',
  'cddl 1': 'CDDL-1.0',
  'common development and distribution 1.1': 'CDDL-1.1',
  'cddl 1.1': 'CDDL-1.1',
  'cddl': 'CDDL-1.0 CDDL-1.1',
  'common development and distribution': 'CDDL-1.0 CDDL-1.1',
  'zlib libpng': 'Zlib',
  'python': 'PSF-2.0 Python-2.0',
  'psf': 'PSF-2.0 Python-2.0',
  'psf 2': 'PSF-2.0',
  'python 2': 'Python-2.0',
  'zope public': 'ZPL-1.1 ZPL-2.0 ZPL-2.1',
  'zpl 2.1': 'ZPL-2.1',
  'artistic': 'Artistic-1.0 Artistic-1.0-Perl Artistic-2.0',
  'artistic 2': 'Artistic-2.0',
  'public domain': 'CC-PDDC CC0-1.0 Unlicense',
  'unlicense': 'Unlicense',
  'cc0': 'CC0-1.0',
  'cc0 1': 'CC0-1.0',
  'cc0 1 universal': 'CC0-1.0',
  'cc0 1 universal cc0 1 public domain dedication': 'CC0-1.0',
  'creative commons zero 1': 'CC0-1.0',
  'creative commons attribution 4 international': 'CC-BY-4.0',
  'creative commons attribution sharealike 4 international': 'CC-BY-SA-4.0',
  'cc by 4': 'CC-BY-4.0',
  'boost': 'BSL-1.0',
  'boost 1': 'BSL-1.0',
  'bsl 1': 'BSL-1.0',
  'bsl 1.1': 'BUSL-1.1',
  'business source': 'BUSL-1.1',
  'business source 1.1': 'BUSL-1.1',
  'server side public': 'SSPL-1.0',
  'server side public 1': 'SSPL-1.0',
  'sspl': 'SSPL-1.0',
  'sspl 1': 'SSPL-1.0',
  'mongodb server side public 1': 'SSPL-1.0',
  'elastic': 'Elastic-2.0',
  'elastic 2': 'Elastic-2.0',
  'european union public 1': 'EUPL-1.0',
  'european union public 1.1': 'EUPL-1.1',
  'european union public 1.2': 'EUPL-1.2',
  'eupl 1.1': 'EUPL-1.1',
  'eupl 1.2': 'EUPL-1.2',
  'ms pl': 'MS-PL',
  'microsoft public': 'MS-PL',
  'ms rl': 'MS-RL',
  'microsoft reciprocal': 'MS-RL',
  'universal permissive 1': 'UPL-1.0',
  'upl 1': 'UPL-1.0',
  'sil open font 1.1': 'OFL-1.1',
  'ofl': 'OFL-1.0 OFL-1.1',
  'academic free': 'AFL-1.1 AFL-1.2 AFL-2.0 AFL-2.1 AFL-3.0',
  'academic free 3': 'AFL-3.0',
  'historical permission notice and disclaimer': 'HPND',
  'university of illinois ncsa open source': 'NCSA',
  'json': 'JSON',
  'wtfpl': 'WTFPL',
}

const NOISE = new Set(
  'the license licenses licensed under terms of software version gnu foundation osi approved clause'.split(' '),
)
const KEEPS_CLAUSE = /\b(?:2|3|4) clause bsd\b|\bbsd 4 clause\b/

/** `or any later version`, as GNU's names have it, is a `+`; it is no choice between two licences. */
export const foldLater = (text: string): string =>
  // some thousand signs in a row would take seconds
  text
    .replace(/[ ,]{20,}/g, ', ')
    .replace(
      /[ ,]*\s(?:or|and)\s+(?:\(at your option\)\s+)?(?:any\s+)?(?:later|newer|higher|greater)(?:\s+versions?)?\b/gi,
      '+',
    )

/** A name without what says nothing: `The Apache Software License, Version 2.0` is `apache 2`. */
function keyOf(name: string): string {
  const words = name
    .toLowerCase()
    .replaceAll('licence', 'license')
    .replace(/,? \d{1,2} [a-z]+ (?:19|20)\d\d\b/, '')
    .replace(/[^a-z0-9.+]+/g, ' ')
    .replace(/\b(apache|al|asl|[al]?gpl|g?fdl|mpl|epl|cddl|bsl|eupl|bsd|psf|zpl|sspl)(?=v?\d)/g, '$1 ')
    .replace(/\b(?:v|ver|version)\.? ?(?=\d)/g, ' ')
    .replace(/\b(\d+)\.0\b/g, '$1')
    .trim()
  const isWhole = KEEPS_CLAUSE.test(words)
  return words
    .split(/\s+/)
    .filter(word => !NOISE.has(word) || (isWhole && word === 'clause'))
    .join(' ')
    .replace(/\.$/, '')
    .replace(/ \+/g, '+')
}

/** Pages that say a licence by their last part. */
const PAGES =
  /^(?:apache\.org\/licenses|opensource\.org\/licenses?|gnu\.org\/(?:copyleft|licenses)|spdx\.org\/licenses|eclipse\.org\/(?:legal|org\/documents)|choosealicense\.com\/licenses|mongodb\.com\/licensing|elastic\.co\/licensing)\/(?:old-licenses\/)?([^/?#]+)/

function byAddress(text: string): string | undefined {
  const address = text.toLowerCase().replace(/^https?:\/\/(?:www\.)?/, '')
  const mozilla = /^mozilla\.org\/(?:[a-z-]+\/)?mpl\/(?:mpl-)?([12]\.[01])/.exec(address)?.[1]
  if (mozilla !== undefined) return `mpl ${mozilla}`
  if (/^creativecommons\.org\/publicdomain\/zero\/1\.0/.test(address)) return 'cc0'
  const [, kind, version] = /^creativecommons\.org\/licenses\/([a-z-]+)\/(\d\.\d)/.exec(address) ?? []
  if (kind !== undefined) return `CC-${kind}-${version ?? ''}`
  const page = PAGES.exec(address)?.[1]?.replace(/(?:-standalone)?(?:\.en)?\.(?:html?|txt|php)$/, '')
  return page?.replace(/-v(\d)(\d)$/, '-$1.$2').replace(/^license-/, 'apache-')
}

const isAddress = (text: string): boolean => /^https?:\/\/\S+$/i.test(text)

function byKey(key: string): readonly string[] | undefined {
  const known = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined
  if (known !== undefined) return known.split(' ')
  const [, name, again, version, ending] = GNU_NAME.exec(key) ?? []
  const family = name === undefined ? undefined : GNU[name]
  if (family === undefined) {
    const id = licenceId(key)
    return id === undefined ? undefined : [id]
  }
  // two names of which the second one does not say the same: `GPL/AGPL`
  if (again !== undefined && GNU[again] !== family) return undefined
  if (version === undefined) {
    const first = `${family}-${FIRST[family] ?? ''}`
    return family === 'AGPL' ? [`${first}-only`, `${first}-or-later`] : [`${first}-or-later`]
  }
  const id = `${family}-${version.includes('.') ? version : `${version}.0`}${ending === '+' ? '-or-later' : '-only'}`
  return licenceId(id) === undefined ? undefined : [id]
}

const familyOf = (id: string): string => id.replace(/-\d.*$/, '').toLowerCase()

/** Whether a text names a licence that is none of these and no other release of one: `parts: AGPL-3.0`. */
export function namesOthers(text: string, ids: readonly string[]): boolean {
  const families = new Set(ids.map(familyOf))
  return text
    .split(/[^A-Za-z0-9.+-]+/)
    .flatMap(word => licenceId(word) ?? byKey(keyOf(word)) ?? [])
    .some(id => !families.has(familyOf(id)))
}

/**
 * The licences that a name or an address means, as identifiers of SPDX: `GNU Affero General Public License v3`,
 * `ASL 2.0`, `https://opensource.org/licenses/MIT`.
 * @returns several where the name does not say which one of them, as `BSD License`; undefined where it is not known
 */
export function licencesNamed(name: string): readonly string[] | undefined {
  const text = name.trim()
  if (isAddress(text)) {
    const page = byAddress(text)
    return page === undefined || isAddress(page) ? undefined : licencesNamed(page)
  }
  const id = licenceId(text)
  if (id !== undefined) return [id]
  const plain = foldLater(text)
  const found = byKey(keyOf(plain))
  // what stands in brackets at the end says the same shorter
  const [, before, inside = ''] = /^([^()]+)\(([^()]*)\)$/.exec(plain) ?? []
  const shorter = found === undefined && before !== undefined ? byKey(keyOf(before)) : undefined
  return found ?? (shorter !== undefined && namesOthers(inside, shorter) ? undefined : shorter)
}

/** The one licence that a name means, as an identifier; the name itself where it is not known or not clear. */
export function identifierOrName(name: string): string {
  const [one, ...others] = licencesNamed(name) ?? []
  return one === undefined || others.length > 0 ? name : one
}
