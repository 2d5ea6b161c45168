import type { Found, Reader } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'

const PACKAGED = 'It is a package of a distribution that is not known; what is inside it is read.'

const packageFound = (type: 'deb' | 'rpm' | 'apk', name: string, version: string): Found[] =>
  /^[\w.+-]+$/.test(name) && /^\d?[\w.+:~^-]*$/.test(version) && version !== ''
    ? [{ type, name, version, presence: 'shipped', rule: `${type}-package`, confidence: 'certain', unasked: PACKAGED }]
    : []

/** The value of the first line that begins with a name and a mark. */
function fieldOf(text: string, name: string, mark: string): string {
  for (const line of linesOf(text))
    if (line.startsWith(name + mark)) return line.slice(name.length + mark.length).trim()
  return ''
}

/** The control file of a .deb inside the package. Source: deb-control(5) */
const innerDeb = textReader({
  id: 'deb-package',
  path: /\.u?deb!\/control\.tar[^/]*!\/(?:control\.tar!\/)?control$/,
  most: 2 ** 20,
  read: text => packageFound('deb', fieldOf(text, 'Package', ':'), fieldOf(text, 'Version', ':')),
})

/** `.PKGINFO` of an .apk inside the package. Source: wiki.alpinelinux.org, "Apk spec" */
const innerApk = textReader({
  id: 'apk-package',
  path: /\.apk!\/\.PKGINFO$/,
  most: 2 ** 20,
  read: text => packageFound('apk', fieldOf(text, 'pkgname', ' ='), fieldOf(text, 'pkgver', ' =')),
})

const NAME_AT = 10
const NAME_BYTES = 66

/** An .rpm inside the package, by the name in its lead; a longer name is cut there. Source: rpm's format.md, "Lead" */
const innerRpm: Reader = {
  id: 'rpm-package',
  wants: ({ head }) => head.length > NAME_AT + NAME_BYTES && head.toString('hex', 0, 4) === 'edabeedb',
  async read({ head }) {
    const [full = ''] = head.toString('latin1', NAME_AT, NAME_AT + NAME_BYTES).split('\0', 1)
    const [, name = '', version = ''] = /^(.+)-([^-]+-[^-]+)$/.exec(full) ?? []
    return { found: full.length >= NAME_BYTES - 1 ? [] : packageFound('rpm', name, version) }
  },
}

/** Packages for dpkg, rpm and apk that lie inside another. */
export const innerPackages: readonly Reader[] = [innerDeb, innerApk, innerRpm]
