// A table of packages, so longer than other files.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { MalformedPackage, OddPackage } from './malformed-suite.ts'
import type { CpioSpec, RpmCompression, RpmParts, RpmSpec, RpmTag } from './packages-rpm.ts'
import {
  CPIO_END,
  RPM_COMPRESSIONS,
  binTag,
  buildRpm,
  compressPayload,
  cpioEntry,
  encodeHeader,
  headerIntro,
  i18nTag,
  indexEntry,
  int16Tag,
  int32Tag,
  int64Tag,
  packRpm,
  rpmParts,
  signatureHeader,
  stringTag,
  stringsTag,
} from './packages-rpm.ts'

type Row = readonly [name: string, bytes: Buffer, why: RegExp]

const SPEC: RpmSpec = {
  name: 'odd',
  version: '1.0',
  release: '1',
  requires: ['/bin/sh', 'libfoo >= 2'],
  changelog: [{ author: 'A', at: 1_700_000_000, text: '- x' }],
  files: { 'usr/bin/odd': '#!/bin/sh\n', 'usr/share/odd/a': 'a file', 'usr/share/odd/b': { symlink: 'a' } },
}
const parts = await rpmParts(SPEC)
const { payload: cpio } = await rpmParts({ ...SPEC, compression: 'none' })
const header = encodeHeader(parts.tags, 63)
const whole = packRpm(parts)

/** Lead, signature over exactly these bytes, header, payload. */
const withHeader = (raw: Buffer, payload = parts.payload, extra: readonly RpmTag[] = []): Buffer =>
  Buffer.concat([parts.lead, signatureHeader(raw, payload, parts.payloadBytes, extra), raw, payload])
const without = (...numbers: readonly number[]): RpmTag[] => parts.tags.filter(({ tag }) => !numbers.includes(tag))
const withTags = (...tags: readonly RpmTag[]): Buffer =>
  withHeader(encodeHeader([...without(...tags.map(({ tag }) => tag)), ...tags], 63))
const withoutTags = (...numbers: readonly number[]): Buffer => withHeader(encodeHeader(without(...numbers), 63))
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The header of other parts around this payload as it lies in the file, its digest right. */
function around({ tags }: Pick<RpmParts, 'tags'>, payload: Buffer): Buffer {
  const raw = encodeHeader(
    [...tags.filter(({ tag }) => tag !== 5092 && tag !== 5097), stringsTag(5092, [sha256(payload)])],
    63,
  )
  return withHeader(raw, payload)
}
const withCpio = (entries: readonly Buffer[], end = CPIO_END): Buffer =>
  around(parts, gzipSync(Buffer.concat([...entries, end])))
const packedAs = async (body: Buffer, how: RpmCompression): Promise<RpmParts> => ({
  ...(await rpmParts({ ...SPEC, compression: how })),
  payload: body,
})

/** The place of an entry of the index. */
function placeOf(raw: Buffer, tag: number): number {
  for (let at = 16; at < 16 + raw.readUInt32BE(8) * 16; at += 16) if (raw.readInt32BE(at) === tag) return at
  throw new Error(`the header has no ${tag}`)
}
const FIELDS = { tag: 0, type: 4, offset: 8, count: 12 } as const
/** A header with one number of one entry of its index changed. */
function bent(
  tag: number,
  field: keyof typeof FIELDS,
  value: number | ((was: number) => number),
  raw = header,
): Buffer {
  const copy = Buffer.from(raw)
  const at = placeOf(copy, tag) + FIELDS[field]
  copy.writeInt32BE((typeof value === 'number' ? value : value(copy.readInt32BE(at))) | 0, at)
  return copy
}
const withBent = (...change: Parameters<typeof bent>): Buffer => withHeader(bent(...change))
const patched = (at: number, bytes: string, from = whole): Buffer => {
  const copy = Buffer.from(from)
  copy.write(bytes, at, 'hex')
  return copy
}
const headerStart = whole.indexOf(header)
/** The signature header bent at an entry, everything else as it is. */
const withSignature = (tag: number, field: keyof typeof FIELDS, value: number): Buffer => {
  const raw = whole.subarray(96, headerStart)
  return Buffer.concat([whole.subarray(0, 96), bent(tag, field, value, Buffer.from(raw)), whole.subarray(headerStart)])
}

function outside(): Row[] {
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

function index(): Row[] {
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

function digests(): Row[] {
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

function values(): Row[] {
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
    text('payload compressed with lzma', 1125, 'lzma', /compressed with "lzma"/),
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

async function payloads(): Promise<Row[]> {
  const entries: readonly CpioSpec[] = [
    { name: './usr/bin/odd', body: '#!/bin/sh\n', mode: 0o100755 },
    { name: './usr/share/odd/a', body: 'a file' },
    { name: './usr/share/odd/b', body: 'a', mode: 0o120777 },
  ]
  const plain = entries.map(cpioEntry)
  const [odd, a, b] = entries
  const instead = (place: number, change: Partial<CpioSpec>): Buffer =>
    withCpio(entries.map((entry, i) => cpioEntry(i === place ? { ...entry, ...change } : entry)))
  const field = (n: number, value: string): Buffer => instead(1, { raw: { [n]: value } })
  const { payload: bare } = await rpmParts({ ...SPEC, large: true, compression: 'none' })
  const large = { ...(await rpmParts({ ...SPEC, large: true })), payload: bare }
  const stripped = (number: string, from = large.payload): Buffer =>
    around(large, gzipSync(Buffer.concat([Buffer.from(`07070X${number}\0\0`), from])))
  return [
    ['a name with ..', instead(1, { name: './usr/share/../../etc/passwd' }), /with \.\./],
    ['a name that begins with ..', instead(1, { name: '../etc/passwd' }), /with \.\./],
    ['an absolute name that is another one', instead(1, { name: '/etc/passwd' }), /header does not list/],
    ['an absolute name with two slashes', instead(1, { name: '//usr/share/odd/a' }), /empty segment/],
    ['a name with a dot in it', instead(1, { name: './usr/./share/odd/a' }), /single dot/],
    ['a name with a newline', instead(1, { name: './usr/share/odd/a\n' }), /control character/],
    ['a name that is not UTF-8', instead(1, { name: Buffer.from('./usr/\xe9\xff', 'latin1') }), /not UTF-8/],
    ['an empty name', instead(1, { name: '' }), /header does not list/],
    [
      'a file that the header does not list',
      withCpio([...plain, cpioEntry({ name: './usr/share/hidden', body: 'x' })]),
      /"usr\/share\/hidden", which the header does not list/,
    ],
    [
      'a file that the payload does not hold',
      withCpio(plain.slice(1)),
      /"usr\/bin\/odd", which payload\.cpio does not hold/,
    ],
    ['a file twice in the payload', withCpio([...plain, plain[0] ?? Buffer.alloc(0)]), /twice/],
    ['a symlink in place of a file', instead(1, { mode: 0o120777 }), /is a symlink, and the header says it is a file/],
    ['a file in place of a symlink', instead(2, { mode: 0o100644 }), /is a file, and the header says it is a symlink/],
    ['a device in place of a file', instead(1, { mode: 0o020666, body: '' }), /is a char/],
    ['a mode that says nothing in the payload', instead(1, { mode: 0o644 }), /says nothing/],
    ['a folder with content', instead(1, { mode: 0o040755 }), /is a directory and says it has 6 bytes/],
    ['wrong magic of an entry', instead(1, { magic: '070707' }), /must begin with 070701/],
    [
      'the binary form of cpio',
      around(parts, gzipSync(Buffer.from(`c771${'00'.repeat(200)}`, 'hex'))),
      /must begin with 070701/,
    ],
    ['a tar', around(parts, gzipSync(Buffer.alloc(2048, 'usr/bin/odd\0'))), /must begin with 070701/],
    ['nothing', around(parts, gzipSync(Buffer.alloc(0))), /stops without its last entry/],
    ['a size that is no number', field(6, '0000000x'), /not a number of eight/],
    ['a negative size', field(6, '-0000006'), /not a number of eight/],
    ['a size with a prefix', field(6, '0x000006'), /not a number of eight/],
    ['a size with blanks', field(6, '       6'), /not a number of eight/],
    ['a size that is too small', field(6, '00000001'), /padding behind a file/],
    ['a size that is too large', field(6, '00000020'), /size before it is wrong/],
    ['a huge size', field(6, 'fffffffc'), /header says 6/],
    [
      'files of 9 GiB together',
      around({ tags: [...without(1028), int64Tag(5008, [2 ** 33, 2 ** 30, 1])] }, parts.payload),
      /at most 8 GiB/,
    ],
    [
      'files of as many bytes as no disk has',
      around(
        { tags: [...without(1028), { tag: 5008, type: 5, count: 3, data: Buffer.alloc(24, 0xff) }] },
        parts.payload,
      ),
      /more than 53 bits/,
    ],
    ['a name of no length', field(11, '00000000'), /name of 0 bytes/],
    ['a name of 16 MiB', field(11, '01000000'), /name of 16777216 bytes/],
    ['a name that ends early', field(11, '00000010'), /does not end where/],
    ['a name without its end', field(11, '00000004'), /does not end where/],
    ['a link count that is no number', field(4, '0000000g'), /not a number of eight/],
    ['no last entry', withCpio(plain, Buffer.alloc(0)), /stops without its last entry/],
    ['a payload cut off in a header', around(parts, gzipSync(cpio.subarray(0, 60))), /stops without its last entry/],
    ['a payload cut off in a file', around(parts, gzipSync(cpio.subarray(0, 140))), /stops without its last entry/],
    [
      'a file behind the last entry',
      withCpio([...plain, CPIO_END, cpioEntry({ name: './usr/share/odd/a', body: 'x' })]),
      /goes on behind its last entry/,
    ],
    [
      'garbage behind the last entry',
      withCpio(plain, Buffer.concat([CPIO_END, Buffer.from('garbage')])),
      /goes on behind its last entry/,
    ],
    [
      'a last entry with content',
      withCpio(plain, cpioEntry({ name: 'TRAILER!!!', body: 'abc', mode: 0 })),
      /last entry says it has 3 bytes/,
    ],
    ['a number of a file that does not exist', stripped('000000ff'), /file number 255/],
    ['a number of a file that is none', stripped('-0000001'), /not a number of eight/],
    ['a number twice', stripped('00000001', Buffer.concat([Buffer.from('a file\0\0'), large.payload])), /twice/],
    [
      'both forms in one payload',
      around(
        large,
        gzipSync(
          Buffer.concat([
            cpioEntry({ ...odd, name: './usr/bin/odd' }),
            Buffer.from('07070X00000001\0\0a file\0\0'),
            CPIO_END,
          ]),
        ),
      ),
      /must begin with/,
    ],
    [
      'the other form in a payload of the form for large files',
      around(
        large,
        gzipSync(
          Buffer.concat([
            Buffer.from('07070X00000000\0\0#!/bin/sh\n\0\0'),
            cpioEntry({ name: './usr/share/odd/a', ...a }),
            cpioEntry({ name: './usr/share/odd/b', ...b }),
            CPIO_END,
          ]),
        ),
      ),
      /in one form and files before it in another/,
    ],
  ]
}

async function compression(): Promise<Row[]> {
  const rows: Row[] = []
  const bomb = Buffer.concat([
    cpioEntry({ name: './usr/share/odd/a', raw: { 6: 'fffffff0' } }),
    Buffer.alloc(4 * 2 ** 20),
  ])
  for (const how of RPM_COMPRESSIONS.filter(one => one !== 'none')) {
    const packed = await compressPayload(cpio, how)
    const row = async (name: string, body: Buffer, why: RegExp): Promise<void> => {
      const { tags } = await packedAs(body, how)
      rows.push([`${name} ${how}`, around({ tags }, body), why])
    }
    const corrupt = Buffer.from(packed)
    corrupt.writeUInt32LE((corrupt.readUInt32LE(packed.length >> 1) ^ 0x5a5a5a5a) >>> 0, packed.length >> 1)
    await row('corrupt', corrupt, /damaged|wrong|cut off|payload/)
    await row('cut off', packed.subarray(0, packed.length - 12), /damaged or cut off|too early|cut off|damaged/)
    await row('nothing of', Buffer.alloc(0), /damaged or cut off|too early|does not begin|stops without/)
    await row(
      'garbage behind',
      Buffer.concat([packed, Buffer.from('garbage!')]),
      /damaged|behind the end|follows the end/,
    )
    await row('zeros behind', Buffer.concat([packed, Buffer.alloc(8)]), /damaged|behind the end|follows the end/)
    await row(
      'a second stream behind',
      Buffer.concat([packed, packed]),
      /behind its last entry|behind the end|follows the end/,
    )
    await row(
      'a stream behind zeros after',
      Buffer.concat([packed, Buffer.alloc(8), packed]),
      /behind the end|follows the end|damaged/,
    )
    await row(
      'something else named',
      Buffer.from('this is not compressed at all, whatever its name says'),
      /damaged|does not begin/,
    )
    await row('a bomb of', await compressPayload(bomb, how), /says it has 4294967280 bytes, and the header says 6/)
  }
  rows.push([
    'gzip named xz',
    around(await packedAs(parts.payload, 'xz'), parts.payload),
    /does not begin as an xz stream/,
  ])
  rows.push(['gzip named none', around(await packedAs(parts.payload, 'none'), parts.payload), /must begin with 070701/])
  rows.push(['a plain payload named gzip', around(parts, cpio), /damaged/])
  return rows
}

async function counts(): Promise<Row[]> {
  const many = 300_001
  const zeros = Array.from({ length: many }, () => 0)
  const tags = [
    ...without(1028, 1030, 1033, 1034, 1035, 1036, 1037, 1039, 1040, 1045, 1095, 1096, 1097, 1116, 1117, 1118),
    int32Tag(1028, zeros),
    int16Tag(
      1030,
      zeros.map(() => 0o100644),
    ),
    int32Tag(1116, zeros),
    stringsTag(
      1117,
      zeros.map((_, i) => `f${i}`),
    ),
    stringsTag(1118, ['/usr/']),
  ]
  const flood = Buffer.concat([
    headerIntro(2, 16),
    indexEntry(63, 7, 0, 16),
    indexEntry(1000, 8, 0, 1_000_000),
    Buffer.alloc(0),
  ])
  return Promise.resolve([
    ['300,001 files', withHeader(encodeHeader(tags, 63)), /lists 300001 files, at most 300000/],
    ['a million texts in no data', withHeader(Buffer.concat([flood, Buffer.alloc(16)])), /region|count of 1000000/],
  ])
}

const tagOf = (number: number): RpmTag => parts.tags.find(({ tag }) => tag === number) ?? stringsTag(number, [])
const textsOf = (number: number): string[] => tagOf(number).data.toString().split('\0').slice(0, -1)

const longName = await rpmParts({ ...SPEC, files: { [`usr/${'ä'.repeat(125)}`]: 'x' } })

/** Packages that rpm reads and does not install. */
function uninstallable(): Row[] {
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

/** Every way we know to build a wrong .rpm. Takes about a second. */
export async function malformedRpms(): Promise<MalformedPackage[]> {
  const rows = [
    ...outside(),
    ...index(),
    ...digests(),
    ...values(),
    ...(await payloads()),
    ...(await compression()),
    ...(await counts()),
    ...uninstallable(),
  ]
  return rows.map(([name, bytes, why]) => ({ name, bytes, why }))
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
