import { crc32 } from 'node:zlib'
import { fields, names, tars, values } from './malformed-deb-contents.ts'
import type { Row } from './malformed-deb-parts.ts'
import { CONTROL, ROOT, USR, members } from './malformed-deb-parts.ts'
import type { MalformedPackage } from './malformed-suite.ts'
import { uninstallable } from './odd-deb.ts'
import type { ArSpec, PackageCompression } from './packages.ts'
import { ar, compress, tar } from './packages.ts'

async function structure(): Promise<Row[]> {
  const { binary, control, data } = await members()
  const whole = ar([binary, control, data])
  const at = (needle: string): number => whole.indexOf(needle)
  const bent = (offset: number, text: string): Buffer => {
    const copy = Buffer.from(whole)
    copy.write(text, offset, 'latin1')
    return copy
  }
  const odd = { ...binary, body: '2.0\nx' }
  return [
    ['empty file', Buffer.alloc(0), /does not begin with/],
    ['truncated in the magic', whole.subarray(0, 5), /does not begin with/],
    ['truncated in the first member header', whole.subarray(0, 40), /too few for another header/],
    ['truncated after debian-binary', whole.subarray(0, at('control.tar')), /no ar member control\.tar/],
    ['truncated in control.tar', whole.subarray(0, at('control.tar') + 100), /control\.tar\.gz.*truncated/],
    ['truncated before data.tar', whole.subarray(0, at('data.tar')), /no ar member data\.tar/],
    ['truncated in data.tar', whole.subarray(0, whole.length - 40), /data\.tar\.gz.*truncated/],
    ['wrong magic', bent(0, '!<arcx>\n'), /does not begin with/],
    ['thin ar archive', bent(0, '!<thin>\n'), /does not begin with/],
    ['no archive at all', Buffer.from('#!/bin/sh\necho hello\n'.repeat(40)), /does not begin with/],
    ['negative ar size', ar([binary, { ...control, size: '-5' }, data]), /not a decimal number/],
    ['huge ar size', ar([binary, { ...control, size: '9999999999' }, data]), /truncated/],
    ['hexadecimal ar size', ar([binary, { ...control, size: '0x200' }, data]), /not a decimal number/],
    ['empty ar size', ar([binary, { ...control, size: '' }, data]), /not a decimal number/],
    [
      'ar size too small',
      ar([binary, { ...control, size: String(control.body.length - 20) }, data]),
      /no ar member header at byte/,
    ],
    [
      'ar size too large',
      ar([binary, { ...control, size: String(control.body.length + 20) }, data]),
      /no ar member header at byte/,
    ],
    ['odd ar member without padding', ar([{ ...odd, pad: '' }, control, data]), /no ar member header at byte/],
    [
      'odd ar member with two bytes of padding',
      ar([{ ...odd, pad: '\n\n' }, control, data]),
      /no ar member header at byte/,
    ],
    ['damaged ar header end', bent(at('control.tar') + 58, 'xx'), /no ar member header at byte/],
    [
      'ar member name with control characters',
      ar([binary, { ...control, name: 'control\u0001' }, data]),
      /not printable ASCII/,
    ],
    ['debian-binary missing', ar([control, data]), /wants debian-binary/],
    ['debian-binary second', ar([control, binary, data]), /wants debian-binary/],
    ['control.tar missing', ar([binary, data]), /wants control\.tar/],
    ['data.tar missing', ar([binary, control]), /no ar member data\.tar/],
    ['only debian-binary', ar([binary]), /no ar member control\.tar/],
    ['control.tar after data.tar', ar([binary, data, control]), /wants control\.tar/],
    ['two control.tar', ar([binary, control, control, data]), /wants data\.tar/],
    ['two data.tar', ar([binary, control, data, data]), /follows data\.tar/],
    ['unknown member in between', ar([binary, control, { name: 'extra', body: 'x' }, data]), /wants data\.tar/],
    ['unknown member at the end', ar([binary, control, data, { name: 'extra', body: 'x' }]), /follows data\.tar/],
    ['path as a member name', ar([binary, { ...control, name: '../control.tar' }, data]), /wants control\.tar/],
    ['trailing garbage', Buffer.concat([whole, Buffer.from('some garbage')]), /too few for another header/],
    ['long trailing garbage', Buffer.concat([whole, Buffer.alloc(500, 'garbage')]), /something follows the archive/],
    [
      'forty skipped members',
      ar([binary, ...Array.from({ length: 40 }, () => ({ name: '_x', body: 'x' })), control, data]),
      /more than 32 ar members/,
    ],
    [
      'a large skipped member',
      ar([binary, control, data, { name: '_large', body: Buffer.alloc(2 ** 20 + 2) }]),
      /at most 1 MiB/,
    ],
    ['format 3.0', ar([{ ...binary, body: '3.0\n' }, control, data]), /must be 2\.0/],
    ['format 0.939', ar([{ ...binary, body: '0.939000\n' }, control, data]), /must be 2\.0/],
    ['format without newline', ar([{ ...binary, body: '2.0x' }, control, data]), /must be 2\.0/],
    ['empty debian-binary', ar([{ ...binary, body: '' }, control, data]), /debian-binary has 0 bytes/],
    ['huge debian-binary', ar([{ ...binary, body: `2.0\n${' '.repeat(5000)}` }, control, data]), /debian-binary has/],
    ['bzip2 data', ar([binary, control, { ...data, name: 'data.tar.bz2' }]), /compressed in a way that is not taken/],
    [
      'lzma control',
      ar([binary, { ...control, name: 'control.tar.lzma' }, data]),
      /compressed in a way that is not taken/,
    ],
  ]
}

const bytesOf = (member: ArSpec): Buffer => Buffer.from(member.body)

/** An xz stream whose block header asks for a dictionary of 1.5 GiB; its checksum is right. */
function greedyXz(stream: Buffer): Buffer {
  const bent = Buffer.from(stream)
  const size = ((bent[12] ?? 0) + 1) * 4
  bent[12 + 4] = 37
  bent.writeUInt32LE(crc32(bent.subarray(12, 12 + size - 4)), 12 + size - 4)
  return bent
}

async function compression(): Promise<Row[]> {
  const { binary, control, data } = await members()
  const rows: Row[] = []
  const suffix = { gz: '.gz', xz: '.xz', zst: '.zst', none: '' }
  const noise = Buffer.from(Array.from({ length: 6000 }, (_, i) => (i * i * 31 + (i >> 3) * 17) & 0xff))
  const payload = tar([ROOT, USR, { name: './usr/noise', body: noise }])
  const bomb = tar([
    ROOT,
    { name: './control', body: CONTROL },
    { name: './templates', body: Buffer.alloc(40 * 2 ** 20) },
  ])
  const dataOf = (how: PackageCompression, body: Buffer): Buffer =>
    ar([binary, control, { name: `data.tar${suffix[how]}`, body }])
  for (const how of ['gz', 'xz', 'zst'] as const) {
    const packed = await compress(payload, how)
    const corrupt = Buffer.from(packed)
    corrupt.writeUInt32LE((corrupt.readUInt32LE(packed.length >> 1) ^ 0x5a5a5a5a) >>> 0, packed.length >> 1)
    rows.push(
      [
        `${how} bomb`,
        ar([binary, { name: `control.tar${suffix[how]}`, body: await compress(bomb, how) }, data]),
        /unpacks to more than 32 MiB/,
      ],
      [`corrupt ${how} stream`, dataOf(how, corrupt), /damaged|wrong/],
      [`${how} stream cut off`, dataOf(how, packed.subarray(0, packed.length - 30)), /damaged or cut off|too early/],
      [`${how} stream with nothing in it`, dataOf(how, Buffer.alloc(0)), /damaged or cut off|too early/],
      [
        `garbage behind the ${how} stream`,
        dataOf(how, Buffer.concat([packed, Buffer.from('garbage!')])),
        /damaged|behind the end|follows (the|its) end/,
      ],
      [
        `zeros behind the ${how} stream`,
        dataOf(how, Buffer.concat([packed, Buffer.alloc(8)])),
        /damaged|behind the end|follows (the|its) end/,
      ],
      [
        `payload hidden behind zeros after the ${how} stream`,
        dataOf(how, Buffer.concat([packed, Buffer.alloc(8), packed])),
        /behind the end|follows the end/,
      ],
      [
        `a second tar in a joined ${how} stream`,
        dataOf(how, Buffer.concat([packed, packed])),
        /behind its end mark|behind the end|follows the end/,
      ],
      [
        `${how} that is something else`,
        dataOf(how, Buffer.from('this is not compressed at all, whatever its name says')),
        /damaged|does not begin|is no gzip stream/,
      ],
    )
  }
  const gz = bytesOf(data)
  rows.push(
    ['gzip named xz', ar([binary, control, { name: 'data.tar.xz', body: gz }]), /does not begin as an xz stream/],
    ['gzip named uncompressed', ar([binary, control, { name: 'data.tar', body: gz }]), /checksum|without an end mark/],
    [
      'two xz streams joined in the middle of a file',
      dataOf(
        'xz',
        Buffer.concat([await compress(payload.subarray(0, 2048), 'xz'), await compress(payload.subarray(2048), 'xz')]),
      ),
      /follows the end/,
    ],
    [
      'two zstd frames joined in the middle of a file',
      dataOf(
        'zst',
        Buffer.concat([
          await compress(payload.subarray(0, 2048), 'zst'),
          await compress(payload.subarray(2048), 'zst'),
        ]),
      ),
      /behind the end/,
    ],
    ['xz that wants 1.5 GiB of memory', dataOf('xz', greedyXz(await compress(payload, 'xz'))), /dictionary/],
  )
  return rows
}

/** Every way we know to build a wrong .deb. Takes about a second: one of them has 300,001 entries. */
export async function malformedDebs(): Promise<MalformedPackage[]> {
  const rows = (
    await Promise.all([structure(), compression(), names(), tars(), fields(), values(), uninstallable()])
  ).flat()
  return rows.map(([name, bytes, why]) => ({ name, bytes, why }))
}
