import type { Row } from './malformed-rpm-parts.ts'
import {
  SPEC,
  cpio,
  header,
  parts,
  tagOf,
  textsOf,
  withCpio,
  withHeader,
  withTags,
  without,
  withoutTags,
} from './malformed-rpm-parts.ts'
import type { MalformedPackage, OddPackage } from './malformed-suite.ts'
import {
  RPM_COMPRESSIONS,
  binTag,
  buildRpm,
  cpioEntry,
  encodeHeader,
  int16Tag,
  int32Tag,
  packRpm,
  rpmParts,
  stringTag,
  stringsTag,
} from './packages-rpm.ts'

const longName = await rpmParts({ ...SPEC, files: { [`usr/${'ä'.repeat(125)}`]: 'x' } })

/** Packages that rpm reads and does not install. */
export function uninstallable(): Row[] {
  const md5 = withHeader(header, parts.payload, [binTag(1004, Buffer.alloc(16))])
  const digest = (at: number, value: string): Buffer =>
    withTags(
      stringsTag(
        1035,
        textsOf(1035).map((was, i) => (i === at ? value : was)),
      ),
    )
  const other = (body: string): Buffer =>
    withCpio([
      cpioEntry({ name: './usr/bin/odd', body: '#!/bin/sh\n', mode: 0o100755 }),
      cpioEntry({ name: './usr/share/odd/a', body }),
      cpioEntry({ name: './usr/share/odd/b', body: 'a', mode: 0o120777 }),
    ])
  return [
    ['a file with other content than its digest says', other('a fils'), /sha256 digest of "usr\/share\/odd\/a"/],
    ['a file with no content, and some in the header', other(''), /has 0 bytes, and the header says 6/],
    ['a file with an empty digest', digest(0, ''), /digest of "usr\/bin\/odd"/],
    ['a file with half of its digest', digest(0, textsOf(1035)[0]?.slice(0, 60) ?? ''), /digest of "usr\/bin\/odd"/],
    ['a digest that is none where no content is', digest(2, 'zz'), /digest "zz" of a file is not hexadecimal/],
    ['files without digests', withoutTags(1035), /no digest of "\/usr\/bin\/odd"/],
    ['fewer digests than files', withTags(stringsTag(1035, ['', ''])), /3 files, and 2 texts under the value 1035/],
    ['digests of a kind that is not said', withoutTags(5011), /md5 digest of "usr\/bin\/odd"/],
    ['digests of an unknown kind', withTags(int32Tag(5011, [99])), /digests of files are of the kind 99/],
    ['a wrong MD5 beside better digests', md5, /md5 digest of the header and payload/],
    ['a digest of what is unpacked alone', withoutTags(5092), /none of it as it lies in the file/],
    [
      'two digests of what is unpacked',
      withTags(stringsTag(5097, [...textsOf(5097), 'x'])),
      /2 digests of its payload/,
    ],
    [
      'a payload digest that is no array',
      withTags(stringTag(5092, textsOf(5092)[0] ?? '')),
      /5092 is of type string, rpm wants it to be an array of texts/,
    ],
    [
      'a symlink without a target',
      withTags(stringsTag(1036, ['', '', ''])),
      /no target for the symlink "usr\/share\/odd\/b"/,
    ],
    ['symlinks without a column of targets', withoutTags(1036), /no target for the symlink "usr\/share\/odd\/b"/],
    ['fewer owners than files', withTags(stringsTag(1039, ['root'])), /3 files, and 1 texts under the value 1039/],
    ['no owners', withoutTags(1039), /3 files, and 0 texts under the value 1039/],
    ['no groups', withoutTags(1040), /3 files, and 0 texts under the value 1040/],
    [
      'owners that are translated',
      withTags({ ...tagOf(1039), type: 9 }),
      /1039 is of type i18n string, 3 of them, rpm wants it to be an array of texts/,
    ],
    ['file names that are translated', withTags({ ...tagOf(1117), type: 9 }), /1117 is of type i18n string/],
    ['fewer times than files', withTags(int32Tag(1034, [0])), /3 files, and 1 numbers under the value 1034/],
    [
      'more device numbers than files',
      withTags(int16Tag(1033, [0, 0, 0, 0])),
      /3 files, and 4 numbers under the value 1033/,
    ],
    ['fewer capabilities than files', withTags(stringsTag(5010, ['x'])), /3 files, and 1 texts under the value 5010/],
    ['fewer colours than files', withTags(int32Tag(1140, [1])), /3 files, and 1 numbers under the value 1140/],
    ['a file name of 250 bytes', packRpm(longName), /has 250 bytes, which rpm cannot unpack/],
    ['no operating system', withoutTags(1021), /for which operating system/],
    [
      'two names',
      withTags(stringsTag(1000, ['odd', 'x'])),
      /1000 is of type string array, 2 of them, rpm wants it to be one text/,
    ],
    ['two operating systems', withTags(stringsTag(1021, ['linux', 'x'])), /1021 is of type string array, 2 of them/],
    ['an empty format of the payload', withTags(stringTag(1124, '')), /format ""/],
    [
      'an MD5 that stands in the header',
      withTags(binTag(261, Buffer.alloc(16))),
      /261, which belongs into the signature header/,
    ],
    [
      'a signature that stands in the header',
      withTags(binTag(268, Buffer.alloc(16))),
      /268, which belongs into the signature header/,
    ],
    [
      'a digest of the header that stands in it',
      withTags(stringTag(273, 'x')),
      /273, which belongs into the signature header/,
    ],
    ['a size of what is unpacked in both headers', withTags(int32Tag(1046, [5])), /both headers/],
    ['a folder to be moved that is not absolute', withTags(stringTag(1098, 'x')), /folder "x", which may be moved/],
  ]
}

/** Those of the malformed packages that rpm itself reads, and refuses to install. */
export function uninstallableRpms(): MalformedPackage[] {
  return uninstallable().map(([name, bytes, why]) => ({ name, bytes, why }))
}

/** Unusual packages that rpm reads and that must be taken. All of them are `odd 1.0-1`. */
export async function oddRpms(): Promise<OddPackage[]> {
  const files = ['usr/bin/odd', 'usr/share/odd/a', 'usr/share/odd/b']
  const old = encodeHeader(without(5092, 5093, 5097), 63)
  const absolute = ['/usr/bin/odd', '/usr/share/odd/a', '/usr/share/odd/b']
  const entry = (prefix: string): Buffer =>
    withCpio([
      cpioEntry({ name: `${prefix}usr/bin/odd`, body: '#!/bin/sh\n', mode: 0o100755 }),
      cpioEntry({ name: `${prefix}usr/share/odd/a`, body: 'a file', magic: '070702' }),
      cpioEntry({ name: `${prefix}usr/share/odd/b`, body: 'a', mode: 0o120777 }),
    ])
  const rows: readonly (readonly [string, Buffer, readonly string[]])[] = [
    ...(await Promise.all(
      RPM_COMPRESSIONS.map(
        async compression =>
          [`a payload of the kind ${compression}`, await buildRpm({ ...SPEC, compression }), files] as const,
      ),
    )),
    ['the form for large files', await buildRpm({ ...SPEC, large: true }), files],
    ['no files at all', await buildRpm({ ...SPEC, files: {} }), []],
    [
      'folders and ghosts alone',
      await buildRpm({ ...SPEC, files: { 'usr/lib/odd': { dir: true }, 'var/log/odd': { ghost: true } } }),
      [],
    ],
    ['a package without a payload digest, from before rpm 4.14', withHeader(old), files],
    [
      'whole file names, as in packages built with --nodirtokens',
      withHeader(encodeHeader([...without(1116, 1117, 1118), stringsTag(1027, absolute)], 63)),
      files,
    ],
    ['no name of a compressor, which means gzip', withHeader(encodeHeader(without(1125), 63)), files],
    ['absolute names in the payload', entry('/'), files],
    ['bare names in the payload', entry(''), files],
    ['zeros behind the last entry', withCpio([cpio], Buffer.alloc(512)), files],
    ['a value that nobody knows', withTags(stringTag(9999, 'x')), files],
    [
      'texts that are not UTF-8',
      withTags({ tag: 1005, type: 9, count: 1, data: Buffer.from('Gr\xfc\xdfe\0', 'latin1') }),
      files,
    ],
    ['space reserved for a signature', withHeader(header, parts.payload, [binTag(1008, Buffer.alloc(4000))]), files],
    ['no vendor, group, source package', withoutTags(1016, 1044), files],
  ]
  return rows.map(([name, bytes, found]) => ({ name, bytes, files: found }))
}
