import { gzipSync } from 'node:zlib'
import { digests, index, outside, values } from './malformed-rpm-headers.ts'
import type { Row } from './malformed-rpm-parts.ts'
import { SPEC, around, cpio, packedAs, parts, withCpio, withHeader, without } from './malformed-rpm-parts.ts'
import type { MalformedPackage } from './malformed-suite.ts'
import { uninstallable } from './odd-rpm.ts'
import type { CpioSpec } from './packages-rpm.ts'
import {
  CPIO_END,
  RPM_COMPRESSIONS,
  compressPayload,
  cpioEntry,
  encodeHeader,
  headerIntro,
  indexEntry,
  int16Tag,
  int32Tag,
  int64Tag,
  rpmParts,
  stringsTag,
} from './packages-rpm.ts'

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

type AddRow = (name: string, body: Buffer, why: RegExp) => Promise<void>

/** What follows the end of a compressed stream. */
async function rowsBehind(packed: Buffer, row: AddRow): Promise<void> {
  await row(
    'garbage behind',
    Buffer.concat([packed, Buffer.from('garbage!')]),
    /damaged|behind the end|follows (the|its) end/,
  )
  await row('zeros behind', Buffer.concat([packed, Buffer.alloc(8)]), /damaged|behind the end|follows (the|its) end/)
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
}

async function compression(): Promise<Row[]> {
  const rows: Row[] = []
  const bomb = Buffer.concat([
    cpioEntry({ name: './usr/share/odd/a', raw: { 6: 'fffffff0' } }),
    Buffer.alloc(4 * 2 ** 20),
  ])
  for (const how of RPM_COMPRESSIONS.filter(one => one !== 'none')) {
    const packed = await compressPayload(cpio, how)
    const row: AddRow = async (name, body, why) => {
      const { tags } = await packedAs(body, how)
      rows.push([`${name} ${how}`, around({ tags }, body), why])
    }
    const corrupt = Buffer.from(packed)
    corrupt.writeUInt32LE((corrupt.readUInt32LE(packed.length >> 1) ^ 0x5a5a5a5a) >>> 0, packed.length >> 1)
    await row('corrupt', corrupt, /damaged|wrong|cut off|payload/)
    await row('cut off', packed.subarray(0, packed.length - 12), /damaged or cut off|too early|cut off|damaged/)
    await row('nothing of', Buffer.alloc(0), /damaged or cut off|too early|does not begin|stops without/)
    // rpm reads no further than the decoder, which does not say where an lzma stream ends
    if (how !== 'lzma') await rowsBehind(packed, row)
    await row(
      'something else named',
      Buffer.from('this is not compressed at all, whatever its name says'),
      how === 'lzma' ? /dictionary of 544434536 bytes/ : /damaged|does not begin|is no gzip stream/,
    )
    await row('a bomb of', await compressPayload(bomb, how), /says it has 4294967280 bytes, and the header says 6/)
  }
  rows.push([
    'gzip named xz',
    around(await packedAs(parts.payload, 'xz'), parts.payload),
    /does not begin as an xz stream/,
  ])
  const greedy = await compressPayload(cpio, 'lzma')
  greedy.writeUInt32LE(0x80000000, 1)
  rows.push([
    'an lzma dictionary of 2 GiB',
    around(await packedAs(greedy, 'lzma'), greedy),
    /dictionary of 2 GiB; at most 64 MiB/,
  ])
  rows.push(['gzip named none', around(await packedAs(parts.payload, 'none'), parts.payload), /must begin with 070701/])
  rows.push(['a plain payload named gzip', around(parts, cpio), /is no gzip stream/])
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
