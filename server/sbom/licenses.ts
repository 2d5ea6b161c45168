/**
 * Identifiers of the SPDX licence list that occur in packages. Any other is written as a LicenseRef, which is always
 * valid.
 */
const KNOWN = new Set(
  `0BSD AFL-2.1 AFL-3.0 AGPL-3.0-only AGPL-3.0-or-later Apache-1.1 Apache-2.0 Artistic-1.0 Artistic-1.0-Perl Artistic-2.0 BSD-1-Clause BSD-2-Clause
BSD-2-Clause-Patent BSD-3-Clause BSD-4-Clause BSD-4-Clause-UC BSL-1.0 bzip2-1.0.6 CC-BY-3.0 CC-BY-4.0 CC-BY-SA-3.0 CC-BY-SA-4.0 CC0-1.0 CDDL-1.0 CPL-1.0 curl EPL-1.0 EPL-2.0
FSFAP FSFUL FSFULLR FTL GFDL-1.1-or-later GFDL-1.2-only GFDL-1.2-or-later GFDL-1.3-only GFDL-1.3-or-later GPL-1.0-only GPL-1.0-or-later GPL-2.0 GPL-2.0+ GPL-2.0-only
GPL-2.0-or-later GPL-3.0 GPL-3.0+ GPL-3.0-only GPL-3.0-or-later HPND ICU IJG ISC LGPL-2.0-only LGPL-2.0-or-later LGPL-2.1 LGPL-2.1+ LGPL-2.1-only LGPL-2.1-or-later LGPL-3.0
LGPL-3.0-only LGPL-3.0-or-later libpng-2.0 Libpng libtiff MIT MIT-0 MIT-CMU MPL-1.1 MPL-2.0 MPL-2.0-no-copyleft-exception MS-PL NCSA NTP OFL-1.1 OLDAP-2.8 OpenSSL PHP-3.01
PostgreSQL PSF-2.0 Python-2.0 Python-2.0.1 Ruby Sleepycat SSH-OpenSSH TCL Unicode-DFS-2016 Unlicense Vim W3C WTFPL X11 Zlib zlib-acknowledgement ZPL-2.1`.split(
    /\s+/,
  ),
)
const EXCEPTIONS = new Set([
  'Autoconf-exception-2.0',
  'Autoconf-exception-3.0',
  'Bison-exception-2.2',
  'Classpath-exception-2.0',
  'Font-exception-2.0',
  'GCC-exception-2.0',
  'GCC-exception-3.1',
  'LLVM-exception',
  'Linux-syscall-note',
  'OpenJDK-assembly-exception-1.0',
  'Qt-LGPL-exception-1.1',
  'u-boot-exception-2.0',
])

/** Takes an expression apart: `A AND (B OR C) WITH D`. Source: SPDX 2.3, annex D. */
function isExpression(words: readonly string[]): boolean {
  let at = 0
  const simple = (): boolean => {
    if (words[at] === '(') {
      at++
      return compound() && words[at++] === ')'
    }
    if (!KNOWN.has(words[at++] ?? '')) return false
    return words[at] !== 'WITH' || (at++, EXCEPTIONS.has(words[at++] ?? ''))
  }
  const compound = (): boolean => {
    if (!simple()) return false
    while (words[at] === 'AND' || words[at] === 'OR') {
      at++
      if (!simple()) return false
    }
    return true
  }
  return compound() && at === words.length
}

/** The text as an SPDX expression, or undefined where it is none of the known ones. */
export function spdxExpression(text: string): string | undefined {
  const words = text
    .slice(0, 2000)
    .replace(/[()]/g, ' $& ')
    .trim()
    .split(/\s+/)
    .map(word => (/^(and|or|with)$/i.test(word) ? word.toUpperCase() : word))
  return words.length < 200 && isExpression(words)
    ? words.join(' ').replace(/\( /g, '(').replace(/ \)/g, ')')
    : undefined
}

/** A name for a licence text that is no SPDX expression. The same text always gets the same one. */
export function licenseRef(text: string): string {
  const slug = text
    .replace(/[^A-Za-z0-9.]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return `LicenseRef-${slug === '' ? 'text' : slug}-${(hash >>> 0).toString(16)}`
}
