import type { Row } from './malformed-rpm-parts.ts'
import {
  bent,
  header,
  headerStart,
  parts,
  patched,
  placeOf,
  sha256,
  whole,
  withBent,
  withHeader,
  withSignature,
  withTags,
  without,
  withoutTags,
} from './malformed-rpm-parts.ts'
import type { RpmTag } from './packages-rpm.ts'
import {
  binTag,
  encodeHeader,
  headerIntro,
  i18nTag,
  int16Tag,
  int32Tag,
  int64Tag,
  stringTag,
  stringsTag,
} from './packages-rpm.ts'

export function outside(): Row[] {
  const intro = (entries: number, data: number): Buffer =>
    Buffer.concat([headerIntro(entries, data), header.subarray(16)])
  return [
    ['empty file', Buffer.alloc(0), /in the middle of something/],
    ['truncated in the lead', whole.subarray(0, 50), /in the middle of something/],
    ['truncated in the signature header', whole.subarray(0, 200), /in the middle of something/],
    ['truncated before the header', whole.subarray(0, headerStart), /in the middle of something/],
    ['truncated in the index', whole.subarray(0, headerStart + 300), /in the middle of something/],
    [
      'truncated in the data of the header',
      whole.subarray(0, headerStart + header.length - 40),
      /in the middle of something/,
    ],
    ['truncated before the payload', whole.subarray(0, headerStart + header.length), /header and payload have/],
    ['truncated in the payload', whole.subarray(0, whole.length - 30), /header and payload have/],
    ['trailing garbage', Buffer.concat([whole, Buffer.from('garbage')]), /header and payload have/],
    ['another package behind it', Buffer.concat([whole, whole]), /header and payload have/],
    ['wrong magic', patched(0, 'edabeedc'), /does not begin with/],
    ['lead of version 9', patched(4, '09'), /lead is of version 9/],
    ['lead of a source package', patched(6, '0001'), /source package/],
    ['lead of a type that does not exist', patched(6, '0007'), /type 7/],
    ['signature of another type', patched(78, '0001'), /signature is of the type 1/],
    ['wrong magic of the signature header', patched(96, '8eade900'), /signature header does not begin with its magic/],
    ['signature header of version 2', patched(99, '02'), /signature header is of version 2/],
    ['signature header without entries', patched(104, '00000000'), /signature header has no entries/],
    ['signature header with 1000 entries', patched(104, '000003e8'), /says it has 1000 entries, at most 32/],
    ['signature header with 4 GiB of data', patched(108, 'ffffffff'), /says it has 4294967295 bytes/],
    ['padding that is not zero', paddedWhole('ff'), /padding behind the signature header/],
    ['wrong magic of the header', patched(headerStart, '00000000'), /the header does not begin with its magic/],
    [
      'reserved bytes of the header that are not zero',
      patched(headerStart + 4, '00000001'),
      /reserved bytes are not zero/,
    ],
    ['header without entries', withHeader(intro(0, header.readUInt32BE(12))), /the header has no entries/],
    [
      'header with a negative number of entries',
      withHeader(intro(-1, header.readUInt32BE(12))),
      /says it has 4294967295 entries/,
    ],
    ['header with 70,000 entries', withHeader(intro(70_000, header.readUInt32BE(12))), /at most 65535/],
    ['header with a negative size', withHeader(intro(header.readUInt32BE(8), -1)), /says it has 4294967295 bytes/],
    ['header of 33 MiB', withHeader(intro(header.readUInt32BE(8), 33 * 2 ** 20)), /at most 32 MiB/],
    ['header larger than the file', withHeader(intro(header.readUInt32BE(8), 2 ** 20)), /in the middle of something/],
  ]
}

/** A package whose signature header needs padding, filled with this byte. */
function paddedWhole(byte: string): Buffer {
  for (let length = 1; length < 9; length++) {
    const bytes = withHeader(header, parts.payload, [binTag(1008, Buffer.alloc(length))])
    const end = 96 + 16 + bytes.readUInt32BE(104) * 16 + bytes.readUInt32BE(108)
    if (end % 8 !== 0) return patched(end, byte, bytes)
  }
  throw new Error('no length needs padding')
}

export function index(): Row[] {
  const data = header.readUInt32BE(12)
  const trailer = header.length - 16
  const inTrailer = (at: number, value: number): Buffer => {
    const copy = Buffer.from(header)
    copy.writeInt32BE(value, trailer + at)
    return withHeader(copy)
  }
  const swapped = (() => {
    const copy = Buffer.from(header)
    const [a, b] = [placeOf(copy, 1000), placeOf(copy, 1001)]
    const [one, two] = [Buffer.from(copy.subarray(a, a + 16)), Buffer.from(copy.subarray(b, b + 16))]
    two.copy(copy, a)
    one.copy(copy, b)
    return withHeader(copy)
  })()
  return [
    ['negative offset', withBent(1004, 'offset', -8), /negative offset -8/],
    ['offset behind the data', withBent(1004, 'offset', data + 1), /behind the \d+ bytes of data/],
    ['huge offset', withBent(1004, 'offset', 0x7fffffff), /behind the \d+ bytes of data/],
    ['offset that is not a multiple of four', withBent(1006, 'offset', was => was + 2), /not a multiple of 4/],
    ['negative count', withBent(1006, 'count', -1), /count of -1/],
    ['count of zero', withBent(1006, 'count', 0), /count of 0/],
    ['huge count', withBent(1006, 'count', 0x7fffffff), /more than its data can hold/],
    ['count that overflows when it is multiplied', withBent(1006, 'count', 0x40000001), /more than its data can hold/],
    ['numbers that go on behind the data', withBent(1006, 'count', (data / 4) | 0), /goes on behind|overlaps/],
    ['texts that go on behind the data', withBent(5097, 'count', 50), /goes on behind/],
    [
      'bytes that reach into the trailer of the region',
      withBent(5097, 'type', 7, bent(5097, 'count', 80)),
      /goes on behind/,
    ],
    ['two texts of the kind that is one', withBent(1000, 'count', 2), /one text with a count of 2/],
    ['overlapping entries', withBent(1001, 'offset', 0), /overlaps the one before it/],
    ['entries that share their data', withBent(1002, 'offset', was => was - 1), /overlaps the one before it/],
    ['entries out of order', swapped, /out of order/],
    ['type 0', withBent(1000, 'type', 0), /type 0/],
    ['type 10', withBent(1000, 'type', 10), /type 10/],
    ['negative type', withBent(1000, 'type', -6), /type 4294967290/],
    ['negative number of a value', withBent(1000, 'tag', -1000), /value -1000/],
    ['number of a value below 100', withBent(1000, 'tag', 64), /value 64/],
    ['a second region in the index', withBent(1000, 'tag', 63), /value 63/],
    ['a value twice', withBent(1001, 'tag', 1000), /the value 1000 twice/],
    [
      'bytes between two values',
      withTags({ ...stringTag(1001, '1.0'), data: Buffer.from('1.0\0hid') }),
      /3 bytes before the value 1002 belong to no value/,
    ],
    [
      'bytes behind the last value',
      withTags({ ...stringTag(5200, 'x'), data: Buffer.from('x\0hidden') }),
      /6 bytes behind the last value/,
    ],
    [
      'bytes behind the last value of the signature header',
      withHeader(header, parts.payload, [{ tag: 1010, type: 7, count: 2, data: Buffer.alloc(9) }]),
      /the signature header: 7 bytes behind/,
    ],
    [
      'an MD5 that is a text',
      withHeader(header, parts.payload, [stringTag(1004, 'x')]),
      /the value 1004 is of type string, rpm wants it to be bin/,
    ],
    [
      'an MD5 of three bytes',
      withHeader(header, parts.payload, [binTag(1004, Buffer.alloc(3))]),
      /the value 1004 has 3 bytes, rpm wants 16/,
    ],
    [
      'a licence that is a number',
      withTags(int32Tag(1014, [5])),
      /the value 1014 is of type int32, rpm wants it to be text/,
    ],
    ['a name that is a number', withTags(int32Tag(1000, [5])), /the value 1000 is of type int32/],
    ['an epoch that is a text', withTags(stringTag(1003, '1')), /the value 1003 is of type string/],
    [
      'a build time of 64 bits',
      withTags(int64Tag(1006, [5])),
      /the value 1006 is of type int64, rpm wants it to be int32/,
    ],
    [
      'an installed size that no number holds',
      withTags({ tag: 5009, type: 5, count: 1, data: Buffer.alloc(8, 0xff) }),
      /more than 53 bits/,
    ],
    ['region of the signature in the header', withHeader(bent(63, 'tag', 62)), /begins with the region 62/],
    ['region of another type', withBent(63, 'type', 6), /region is of type 6/],
    ['region of another size', withBent(63, 'count', 32), /with 32 bytes/],
    ['region that ends behind the data', withBent(63, 'offset', data - 8), /trailer of the region is at byte/],
    ['region at a negative offset', withBent(63, 'offset', -16), /trailer of the region is at byte -16/],
    ['region that ends before the data', withBent(63, 'offset', data - 32), /in a package they are one/],
    ['trailer of another number', inTrailer(0, 62), /not one of region 63/],
    ['trailer of another type', inTrailer(4, 6), /not one of region 63/],
    ['trailer that counts fewer entries', inTrailer(8, -16 * 5), /says the region has 5 entries/],
    ['trailer that counts more entries', inTrailer(8, -16 * 500), /says the region has 500 entries/],
    ['trailer with a positive offset', inTrailer(8, 16), /says the region has -1 entries/],
    [
      'negative count in the signature header',
      withSignature(1004, 'count', -16),
      /signature header: the value 1004 has a count of -16/,
    ],
    ['overlap in the signature header', withSignature(273, 'offset', 0), /signature header: the value 273.*overlaps/],
    [
      'trailer of the signature header that is outside',
      withSignature(62, 'offset', 0x7fffffff),
      /signature header: the trailer of the region/,
    ],
    ['a digest of the signature header that is a number', withSignature(269, 'type', 2), /269/],
  ]
}

export function digests(): Row[] {
  const flipped = Buffer.from(whole)
  flipped[headerStart + header.length - 60] = (flipped[headerStart + header.length - 60] ?? 0) ^ 1
  const payload = Buffer.from(whole)
  payload[whole.length - 12] = (payload[whole.length - 12] ?? 0) ^ 1
  const old = encodeHeader(without(5092, 5093, 5097), 63)
  const noDigest = [binTag(1008, Buffer.alloc(8))]
  const bare = (raw: Buffer, tags: readonly RpmTag[]): Buffer => {
    const signature = encodeHeader(tags, 62)
    return Buffer.concat([parts.lead, signature, Buffer.alloc((8 - (signature.length % 8)) % 8), raw, parts.payload])
  }
  return [
    ['a changed byte in the header', flipped, /digest of the header/],
    ['a changed byte in the payload', payload, /damaged|digest of the payload/],
    [
      'a wrong SHA-1 of the header',
      withHeader(header, parts.payload, [stringTag(269, '0'.repeat(40))]),
      /SHA-1 digest of the header/,
    ],
    [
      'a wrong SHA-256 of the header',
      withHeader(header, parts.payload, [stringTag(273, '0'.repeat(64))]),
      /SHA-256 digest of the header/,
    ],
    [
      'a wrong SHA3-256 of the header',
      withHeader(header, parts.payload, [stringTag(279, '0'.repeat(64))]),
      /SHA3-256 digest of the header/,
    ],
    ['a wrong digest of the payload', withTags(stringsTag(5092, ['0'.repeat(64)])), /sha256 digest of the payload/],
    ['a wrong SHA-512 of the payload', withTags(stringTag(5121, '0'.repeat(128))), /sha512 digest of the payload/],
    ['a payload digest of an unknown kind', withTags(int32Tag(5093, [99])), /of the kind 99/],
    [
      'a wrong MD5 in an old package',
      withHeader(old, parts.payload, [binTag(1004, Buffer.alloc(16))]),
      /md5 digest of the header and payload/,
    ],
    ['no digest of the payload', bare(old, [stringTag(273, sha256(old)), ...noDigest]), /no digest of its payload/],
    ['no digest of the header', bare(header, noDigest), /no digest of its header/],
    [
      'a wrong size in the signature header',
      withHeader(header, parts.payload, [int32Tag(1000, [5])]),
      /header and payload have 5 bytes/,
    ],
    [
      'a negative size in the signature header',
      withHeader(header, parts.payload, [int32Tag(1000, [-5])]),
      /header and payload have 4294967291 bytes/,
    ],
    [
      'a huge size of 64 bits in the signature header',
      withHeader(header, parts.payload, [int64Tag(270, [2 ** 50])]),
      /header and payload have 1125899906842624 bytes/,
    ],
    ['a wrong size of the payload', withTags(int64Tag(5112, [5])), /payload has 5 bytes/],
    [
      'a signature that is a text',
      withHeader(header, parts.payload, [stringTag(268, 'signature')]),
      /value 268 is of type string/,
    ],
    [
      'a signature of rpm 6 that is not base64',
      withHeader(header, parts.payload, [stringsTag(278, ['?!'])]),
      /not base64/,
    ],
  ]
}

export function values(): Row[] {
  const text = (name: string, tag: number, value: string, why: RegExp): Row => [
    name,
    withTags(stringTag(tag, value)),
    why,
  ]
  const files = 3
  return [
    ['no name', withoutTags(1000), /has no name/],
    ['no version', withoutTags(1001), /has no version/],
    ['no release', withoutTags(1002), /has no release/],
    ['no architecture', withoutTags(1022), /has no arch/],
    text('empty name', 1000, '', /has no name/),
    text('name with a slash', 1000, '../odd', /package name/),
    text('name with a blank', 1000, 'odd x', /package name/),
    text('name with a newline', 1000, 'odd\nx', /package name/),
    text('name that begins with a dot', 1000, '.odd', /package name/),
    text('name of 300 characters', 1000, 'o'.repeat(300), /at most 200/),
    text('version with a hyphen', 1001, '1.0-2', /hyphen or a colon/),
    text('version with a colon', 1001, '2:1.0', /hyphen or a colon/),
    text('version with a slash', 1001, '1/../2', /may hold only/),
    text('version with a blank', 1001, '1 2', /may hold only/),
    text('version of 200 characters', 1001, '1'.repeat(200), /at most 128/),
    text('version without a letter or digit', 1001, '~', /neither a letter nor a digit/),
    text('release with a newline', 1002, '1\n', /may hold only/),
    text('architecture with a path', 1022, '../x86_64', /architecture/),
    text('architecture src', 1022, 'src', /source package/),
    ['the mark of a source package', withTags(int32Tag(1106, [1])), /source package/],
    text('payload of another format', 1124, 'tar', /format "tar"/),
    text('a delta', 1124, 'drpm', /format "drpm"/),
    text('payload compressed with lzip', 1125, 'lzip', /compressed with "lzip"/),
    text('payload compressed with something else', 1125, 'lzop', /compressed with "lzop"/),
    ['fewer flags than requires', withTags(int32Tag(1048, [0])), /requires, 1 flags/],
    ['fewer versions than provides', withTags(stringsTag(1113, ['1'])), /provides/],
    [
      'a dependency without a name',
      withTags(stringsTag(5046, ['']), int32Tag(5048, [0]), stringsTag(5047, [''])),
      /has no name/,
    ],
    [
      'a dependency with a newline',
      withTags(stringsTag(5046, ['a\nb']), int32Tag(5048, [0]), stringsTag(5047, [''])),
      /control character/,
    ],
    [
      'a dependency of 2000 characters',
      withTags(stringsTag(5046, ['a'.repeat(2000)]), int32Tag(5048, [0]), stringsTag(5047, [''])),
      /more than 1000 characters/,
    ],
    ...(
      [
        ['unclosed', '(a or b'],
        ['empty', '()'],
        ['with an unknown operator', '(a xor b)'],
        ['with two operators', '(a or b and c)'],
        ['nested 30 times', `${'('.repeat(30)}a${')'.repeat(30)}`],
      ] as const
    ).map(([name, rich]): Row => [
      `a rich dependency ${name}`,
      withTags(stringsTag(5046, [rich]), int32Tag(5048, [0]), stringsTag(5047, [''])),
      /not one that rpm reads/,
    ]),
    ['a script that is a number', withTags(int32Tag(1024, [5])), /the value 1024 is of type int32/],
    ['a changelog with fewer authors than times', withTags(int32Tag(1080, [1, 2, 3])), /changelog/],
    ['a description of 1 MiB', withTags(i18nTag(1005, 'x'.repeat(2 ** 20))), /more than 256 KiB/],
    ['fewer numbers of folders than files', withTags(int32Tag(1116, [0])), /3 file names and 1 numbers of folders/],
    ['a number of a folder that does not exist', withTags(int32Tag(1116, [0, 1, 900])), /folder number 900/],
    ['a negative number of a folder', withTags(int32Tag(1116, [0, 1, -1])), /folder number 4294967295/],
    ['fewer modes than files', withTags(int16Tag(1030, [0o100644])), /1 numbers under the value 1030/],
    ['files without modes', withoutTags(1030), /no modes/],
    ['files without sizes', withoutTags(1028), /no sizes/],
    [
      'a mode that says nothing',
      withTags(
        int16Tag(
          1030,
          Array.from({ length: files }, () => 0o644),
        ),
      ),
      /mode 644/,
    ],
    [
      'names of 65 MiB in one deep folder',
      withTags(
        stringsTag(
          1117,
          Array.from({ length: 17_000 }, (_, n) => `f${n}`),
        ),
        int32Tag(
          1116,
          Array.from({ length: 17_000 }, () => 0),
        ),
        stringsTag(1118, [`/${'d/'.repeat(2000)}`]),
      ),
      /names of its files have more than 64 MiB/,
    ],
    ['a folder with ..', withTags(stringsTag(1118, ['/usr/bin/', '/usr/../etc/'])), /with \.\./],
    ['a folder that is not absolute', withTags(stringsTag(1118, ['/usr/bin/', 'etc/'])), /begin and end with a slash/],
    [
      'a folder without its slash',
      withTags(stringsTag(1118, ['/usr/bin/', '/usr/share/odd'])),
      /begin and end with a slash/,
    ],
    ['a folder with two slashes', withTags(stringsTag(1118, ['/usr/bin/', '//etc/'])), /empty segment/],
    ['a folder with a dot', withTags(stringsTag(1118, ['/usr/bin/', '/./etc/'])), /single dot/],
    ['a file name with a slash', withTags(stringsTag(1117, ['odd', 'a/../../../etc/passwd', 'b'])), /holds a slash/],
    ['a file named ..', withTags(stringsTag(1117, ['odd', '..', 'b'])), /with \.\./],
    ['a file without a name', withTags(stringsTag(1117, ['odd', '', 'b'])), /has no name/],
    ['a file name with a newline', withTags(stringsTag(1117, ['odd', 'a\nb', 'b'])), /control character/],
    [
      'a file name that is not UTF-8',
      withTags({ tag: 1117, type: 8, count: 3, data: Buffer.from('odd\0\xe9\xff\0b\0', 'latin1') }),
      /not UTF-8/,
    ],
    ['a file twice', withTags(stringsTag(1117, ['odd', 'a', 'a'])), /twice/],
    ['a symlink target with a newline', withTags(stringsTag(1036, ['', '', 'a\nb'])), /target.*control character/],
    [
      'a file through a symlink of the package',
      withTags(stringsTag(1118, ['/usr/bin/', '/usr/bin/odd/']), int16Tag(1030, [0o120777, 0o100644, 0o120777])),
      /a symlink of the same package/,
    ],
  ]
}
