import { isElf, openElf } from '../binary/elf.ts'
import { bytesOf, sectionOf, type Image } from '../binary/image.ts'
import { numbersIn } from '../binary/numbers.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found, Reader } from '../reader.ts'
import { isNamed, textOf } from '../text-file.ts'

const SECTION = '.note.package'
const OWNER = Buffer.from('FDO\0', 'latin1')
const NOTE_TYPE = 0xcafe1a7e
const MOST_BYTES = 64 * 1024

/** How package URLs call the kinds of packages, and the architecture where the name is that of a source package. */
const KINDS: Readonly<Record<string, { readonly type: string; readonly arch?: string }>> = {
  deb: { type: 'deb', arch: 'source' },
  rpm: { type: 'rpm' },
  apk: { type: 'apk' },
  alpm: { type: 'alpm' },
  pacman: { type: 'alpm' },
}
/** Distributions whose CPE calls them otherwise than their package URL. */
const DISTRIBUTIONS: Readonly<Record<string, string>> = {
  debian_linux: 'debian',
  ubuntu_linux: 'ubuntu',
  fedoraproject: 'fedora',
  enterprise_linux: 'redhat',
  azure_linux: 'azurelinux',
}

/** The text of the note; undefined where there is none. @throws Malformed */
async function noteIn(image: Image): Promise<string | undefined> {
  const section = sectionOf(image, SECTION)
  if (section === undefined && image.sections.length > 0) return undefined
  // without a table of sections notes lie near the headers
  const bytes = section === undefined ? await image.file.read(0, MOST_BYTES) : await bytesOf(image, section, MOST_BYTES)
  const { u32 } = numbersIn(bytes, image)
  for (let at = bytes.indexOf(OWNER, 12); at !== -1; at = bytes.indexOf(OWNER, at + 1)) {
    if (u32(at - 4) !== NOTE_TYPE) continue
    const text = bytes.toString('utf8', at + 4, at + 4 + u32(at - 8))
    const end = text.indexOf('\0')
    return end === -1 ? text : text.slice(0, end)
  }
  return undefined
}

/** The namespace and the release by `os` and `osVersion`, or by `osCpe`: `cpe:2.3:o:fedoraproject:fedora:39`. */
function distributionOf(os: string, osVersion: string, osCpe: string): { namespace?: string; distro?: string } {
  const parts = osCpe.replace(/^cpe:(?:\/|2\.3:)o:/, '').split(':')
  const product = os === '' ? (parts[1] ?? '') : os
  const namespace = DISTRIBUTIONS[product] ?? product
  if (!/^[a-z][\w.-]*$/.test(namespace)) return {}
  const release = osVersion === '' ? (parts[2] ?? '') : osVersion
  return { namespace, ...(/^\d[\w.]*$/.test(release) ? { distro: `${namespace}-${release}` } : {}) }
}

/** The package that a program says it was built for. */
function packageIn(text: string): Found[] {
  const note = parseJsonObject(text)
  const [name, full, architecture] = [textOf(note.name), textOf(note.version), textOf(note.architecture)]
  const kind = KINDS[textOf(note.type)]
  if (kind === undefined || name === '' || full === '') return []
  const { type, arch = architecture } = kind
  const { namespace, distro } = distributionOf(textOf(note.os), textOf(note.osVersion), textOf(note.osCpe))
  // rpm's macros write the architecture behind the release
  const suffix = `.${architecture}`
  const version = architecture !== '' && full.endsWith(suffix) ? full.slice(0, -suffix.length) : full
  const found: Found = {
    type,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    version,
    qualifiers: { arch, distro: distro ?? '' },
    presence: 'shipped',
    rule: 'elf-package-note',
    confidence: 'certain',
  }
  return isNamed(found) ? [found] : []
}

/**
 * Programs that name the package they were built for.
 * Source: uapi-group.org, Specifications, "Package Metadata for Executable Files"
 */
export const packageNote: Reader = {
  id: 'elf-package-note',
  wants: ({ head }) => isElf(head),
  async read(file) {
    const text = await noteIn(await openElf(file))
    return { found: text === undefined ? [] : packageIn(text) }
  },
}
