// A table of packages, so longer than other files.
import { crc32 } from 'node:zlib'
import type { ArSpec, DebSpec, PackageCompression, TarSpec } from './packages.ts'
import { ar, buildDeb, compress, controlText, debParts, packDeb, pax, tar, tarEntry } from './packages.ts'
import type { MalformedPackage, OddPackage } from './malformed-suite.ts'

type Row = readonly [name: string, bytes: Buffer, why: RegExp]

const SPEC: DebSpec = { name: 'odd', version: '1.0-1' }
const README = 'usr/share/doc/odd/README'
const parts = debParts(SPEC)
const CONTROL = controlText(SPEC)
const ROOT: TarSpec = { name: './', type: '5' }
const USR: TarSpec = { name: './usr/', type: '5' }
const FILE: TarSpec = { name: './usr/file', body: 'hello' }

const withData = (entries: readonly TarSpec[]): Promise<Buffer> =>
  packDeb({ control: parts.control, data: tar(entries) })
const withControlTar = (entries: readonly TarSpec[]): Promise<Buffer> =>
  packDeb({ control: tar(entries), data: parts.data })
const withControl = (text: string | Buffer): Promise<Buffer> =>
  withControlTar([ROOT, { name: './control', body: text }])
const withFields = (fields: Readonly<Record<string, string>>): Promise<Buffer> =>
  withControl(controlText({ ...SPEC, fields }))
/** The control file with one line in place of the field that begins like it. */
const withLine = (field: string, line: string): Promise<Buffer> =>
  withControl(CONTROL.replace(new RegExp(`^${field}:.*\n`, 'm'), line))

async function members(): Promise<{ binary: ArSpec; control: ArSpec; data: ArSpec }> {
  return {
    binary: { name: 'debian-binary', body: '2.0\n' },
    control: { name: 'control.tar.gz', body: await compress(parts.control, 'gz') },
    data: { name: 'data.tar.gz', body: await compress(parts.data, 'gz') },
  }
}

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
        /damaged|behind the end|follows the end/,
      ],
      [
        `zeros behind the ${how} stream`,
        dataOf(how, Buffer.concat([packed, Buffer.alloc(8)])),
        /damaged|behind the end|follows the end/,
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
        /damaged|does not begin/,
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

async function names(): Promise<Row[]> {
  const data = async (name: string, entries: readonly TarSpec[], why: RegExp): Promise<Row> => [
    name,
    await withData([ROOT, USR, ...entries]),
    why,
  ]
  const control = async (name: string, entries: readonly TarSpec[], why: RegExp): Promise<Row> => [
    name,
    await withControlTar([ROOT, ...entries]),
    why,
  ]
  const good: TarSpec = { name: './control', body: CONTROL }
  return Promise.all([
    data('absolute name', [{ name: '/etc/passwd', body: 'x' }], /is absolute/),
    data('name that begins with ..', [{ name: '../evil', body: 'x' }], /with \.\./),
    data('name with .. inside', [{ name: './usr/../../etc/passwd', body: 'x' }], /with \.\./),
    data('folder named ..', [{ name: './usr/..', type: '5' }], /with \.\./),
    data('long name with ..', [{ name: `./usr/${'x/'.repeat(80)}../../etc/passwd`, body: 'x' }], /with \.\./),
    control('.. in a pax path', [good, pax('path', './usr/../../evil'), FILE], /with \.\./),
    data('newline in a name', [{ name: './usr/a\nb', body: 'x' }], /control character/),
    data('escape in a name', [{ name: './usr/\u001b[2J', body: 'x' }], /control character/),
    data('name that is not UTF-8', [{ name: Buffer.from([0x2e, 0x2f, 0xe9, 0xff]), body: 'x' }], /not UTF-8/),
    data('empty name', [{ name: '', body: 'x' }], /root is a file|without a name/),
    data('root as a symlink', [{ name: './', type: '2', link: '/etc' }], /root is a symlink/),
    data('symlink above the root', [{ name: './usr/l', type: '2', link: '../../../etc/passwd' }], /above the root/),
    data('symlink without a target', [{ name: './usr/l', type: '2' }], /has no target/),
    data(
      'file through a symlink',
      [
        { name: './usr/l', type: '2', link: '/etc' },
        { name: './usr/l/passwd', body: 'x' },
      ],
      /a symlink of the same package/,
    ),
    data('file below a file', [FILE, { name: './usr/file/x', body: 'x' }], /lies below "usr\/file", which is a file/),
    data(
      'folder below a device',
      [
        { name: './usr/null', type: '3' },
        { name: './usr/null/x/', type: '5' },
      ],
      /lies below "usr\/null", which is a char/,
    ),
    data(
      'nested links',
      [
        { name: './usr/a', type: '2', link: '/' },
        { name: './usr/a/b', type: '2', link: 'etc' },
        { name: './usr/a/b/c', body: 'x' },
      ],
      /a symlink of the same package/,
    ),
    data('hard link to an absolute name', [{ name: './usr/h', type: '1', link: '/etc/shadow' }], /is absolute/),
    data('hard link with ..', [{ name: './usr/h', type: '1', link: '../etc/shadow' }], /with \.\./),
    data('hard link to what is not there', [{ name: './usr/h', type: '1', link: './etc/shadow' }], /no file before it/),
    data(
      'hard link to a symlink',
      [
        { name: './usr/l', type: '2', link: '/etc/shadow' },
        { name: './usr/h', type: '1', link: './usr/l' },
      ],
      /no file before it/,
    ),
    data('hard link to itself', [{ name: './usr/h', type: '1', link: './usr/h' }], /no file before it/),
    data(
      'symlink in place of a file',
      [FILE, { name: './usr/file', type: '2', link: '/etc/passwd' }],
      /twice, as file and as symlink/,
    ),
    data(
      'file in place of a symlink',
      [{ name: './usr/file', type: '2', link: '/etc/passwd' }, FILE],
      /twice, as symlink and as file/,
    ),
    control('control.tar: ..', [good, { name: '../evil', body: 'x' }], /with \.\./),
    control('control.tar: absolute name', [good, { name: '/tmp/evil', body: 'x' }], /is absolute/),
    control('control.tar: folder', [good, { name: './sub/', type: '5' }], /only plain files/),
    control('control.tar: file in a folder', [good, { name: './sub/file', body: 'x' }], /stands in a folder/),
    control(
      'control.tar: control is a symlink',
      [
        { name: './c', body: CONTROL },
        { name: './control', type: '2', link: 'c' },
      ],
      /only plain files/,
    ),
    control(
      'control.tar: control is a hard link',
      [
        { name: './c', body: CONTROL },
        { name: './control', type: '1', link: './c' },
      ],
      /only plain files/,
    ),
    control('control.tar: device node', [good, { name: './null', type: '3' }], /only plain files/),
    control('no control file', [{ name: './postinst', body: '#!/bin/sh\n' }], /no file named control/),
    control(
      'two control files',
      [good, { name: './control', body: CONTROL.replace('1.0-1', '9.0-1') }],
      /two files named control/,
    ),
    control(
      'two control files by different names',
      [good, { name: './/control', body: CONTROL }],
      /two files named control/,
    ),
  ])
}

async function tars(): Promise<Row[]> {
  const file = tarEntry(FILE)
  const head = Buffer.concat([tarEntry(ROOT), tarEntry(USR)])
  const end = Buffer.alloc(1024)
  const raw = async (name: string, data: Buffer, why: RegExp): Promise<Row> => [
    name,
    await packDeb({ control: parts.control, data }),
    why,
  ]
  const data = async (name: string, entries: readonly TarSpec[], why: RegExp): Promise<Row> => [
    name,
    await withData([ROOT, USR, ...entries]),
    why,
  ]
  const binarySize = Buffer.alloc(12)
  binarySize[0] = 0x80
  binarySize[11] = 5
  const control = async (
    name: string,
    ahead: readonly TarSpec[],
    why: RegExp,
    raw: TarSpec['raw'] = {},
  ): Promise<Row> => [name, await withControlTar([ROOT, ...ahead, { name: './control', body: CONTROL, raw }]), why]
  const many = (count: number): Buffer =>
    Buffer.concat([Buffer.alloc(count * 512, tarEntry({ name: './x/', type: '5' })), end])
  return Promise.all([
    data('wrong tar checksum', [{ ...FILE, checksumOff: 1 }], /checksum is wrong/),
    data('tar size not octal', [{ ...FILE, size: '9999999999\0' }], /not an octal number/),
    data('negative tar size', [{ ...FILE, size: '-0000000001' }], /not an octal number/),
    data('binary tar size', [{ ...FILE, size: binarySize.toString('latin1') }], /not an octal number/),
    data('blank tar size', [{ name: './usr/blank', size: ' '.repeat(12) }, FILE], /not an octal number/),
    data('tar size of NULs', [{ name: './usr/blank', size: '\0' }, FILE], /not an octal number/),
    data('tar size with something behind it', [{ ...FILE, size: '5 77' }], /not an octal number/),
    data('tar size too small', [{ ...FILE, body: 'x'.repeat(2000), size: 100 }], /checksum/),
    data('tar size too large', [{ ...FILE, size: 512 * 100 }], /without an end mark/),
    data('tar size of 8 GiB', [{ ...FILE, size: '77777777777\0' }], /without an end mark/),
    data(
      'directory with a size',
      [{ name: './usr/d/', type: '5', size: 512, body: 'x' }],
      /is a directory and says it has/,
    ),
    data(
      'symlink with a size',
      [{ name: './usr/l', type: '2', link: 'x', size: 512, body: 'x' }],
      /is a symlink and says it has/,
    ),
    data('GNU sparse file', [{ name: './usr/s', type: 'S' }], /not every reader knows/),
    data('unknown entry type', [{ name: './usr/s', type: 'Z' }], /not every reader knows/),
    data('unknown tar kind', [{ ...FILE, magic: 'ustar!!!' }], /unknown kind/),
    data(
      'huge GNU long name',
      [{ name: '././@LongLink', type: 'L', body: 'x'.repeat(5000) }, FILE],
      /GNU long name of 5000 bytes/,
    ),
    data('pax header', [pax('path', './usr/longer'), FILE], /pax header, which dpkg refuses/),
    data('pax header about times only', [pax('mtime', '1700000000.123'), FILE], /pax header, which dpkg refuses/),
    data('global pax header', [pax('comment', 'abcd', 'g'), FILE], /pax header, which dpkg refuses/),
    control('huge pax header', [pax('comment', 'x'.repeat(70_000))], /pax header of \d+ bytes/),
    control('damaged pax header', [{ name: './PaxHeader', type: 'x', body: '99 path=x\n' }], /damaged pax header/),
    control(
      'pax header without a number',
      [{ name: './PaxHeader', type: 'x', body: 'path=./usr/x\n' }],
      /damaged pax header/,
    ),
    control('pax header with another size', [pax('size', '100')], /two different sizes/),
    control('pax header of a sparse file', [pax('GNU.sparse.major', '1')], /sparse/),
    control('global pax path', [pax('path', './usr/x', 'g')], /global pax header/),
    data(
      'mode that is no number',
      [{ ...FILE, raw: { 100: '99999999' } }],
      /the mode of "\.\/usr\/file" is "99999999"/,
    ),
    data('blank mode', [{ ...FILE, raw: { 100: ' '.repeat(8) } }], /the mode of/),
    data('negative owner', [{ ...FILE, raw: { 108: '-1\0\0\0\0\0\0' } }], /the owner of/),
    data('group with something behind it', [{ ...FILE, raw: { 116: '0000000\x01' } }], /the group of/),
    data('time that is no number', [{ ...FILE, raw: { 136: '9'.repeat(12) } }], /the time of/),
    control('control.tar: mode that is no number', [], /the mode of/, { 100: '0000755\x01' }),
    data('folder as before POSIX', [{ name: './usr/d/', type: '\0', magic: '' }], /of which dpkg makes a file/),
    data(
      'long name without its file',
      [FILE, { name: '././@LongLink', type: 'L', body: './usr/nothing\0' }],
      /without the file it is for/,
    ),
    raw('no end mark', Buffer.concat([head, file]), /without an end mark/),
    raw('cut in a tar header', Buffer.concat([head, file.subarray(0, 300)]), /without an end mark/),
    raw('nothing in data.tar', Buffer.alloc(0), /without an end mark/),
    raw('file behind the end mark', Buffer.concat([head, end, file, end]), /behind its end mark/),
    raw('file behind one zero block', Buffer.concat([head, Buffer.alloc(512), file, end]), /behind its end mark/),
    raw('text in place of a tar', Buffer.alloc(2048, 'text'), /checksum|octal/),
    raw(
      'names of 65 MiB',
      Buffer.concat([
        ...Array.from({ length: 16_700 }, (_, n) =>
          tarEntry({ name: `./${'d/'.repeat(1990)}${String(n).padStart(6, '0')}/x${'y'.repeat(100)}` }),
        ),
        end,
      ]),
      /names of its files have more than 64 MiB/,
    ),
    raw('300,001 entries', many(300_001), /more than 300000 entries/),
    (async (): Promise<Row> => [
      '1,001 entries in control.tar',
      await packDeb({ control: many(1001), data: parts.data }),
      /more than 1000 entries|only plain files/,
    ])(),
  ])
}

async function fields(): Promise<Row[]> {
  const text = async (name: string, control: string | Buffer, why: RegExp): Promise<Row> => [
    name,
    await withControl(control),
    why,
  ]
  const line = async (name: string, field: string, to: string, why: RegExp): Promise<Row> => [
    name,
    await withLine(field, to),
    why,
  ]
  return Promise.all([
    line('no Package', 'Package', '', /no field Package/),
    line('no Version', 'Version', '', /no field Version/),
    line('no Architecture', 'Architecture', '', /no field Architecture/),
    line('empty Package', 'Package', 'Package:\n', /no field Package/),
    line('empty Version', 'Version', 'Version: \n', /no field Version/),
    line('empty Architecture', 'Architecture', 'Architecture:\n', /no field Architecture/),
    text('empty control file', '', /does not end with a newline/),
    text('control file of blank lines', '\n\n', /no field Package/),
    text('repeated Version', `${CONTROL}Version: 9.0\n`, /the field Version twice/),
    text('repeated field in other letters', `${CONTROL}X-A: 1\nx-a: 2\n`, /the field x-a twice/),
    text('two paragraphs', `${CONTROL}\n${CONTROL}`, /second paragraph/),
    text('latin-1', Buffer.concat([Buffer.from(`${CONTROL}X-Name: `), Buffer.from([0xe9, 0x0a])]), /not UTF-8/),
    text('NUL', `${CONTROL}X-Name: a\0b\n`, /control character/),
    text('lone carriage return', `${CONTROL}X-Name: a\rFilename: x\n`, /control character/),
    text('line without a colon', `${CONTROL}hello\n`, /a field name and a colon/),
    text('comment', `# comment\n${CONTROL}`, /a field name and a colon/),
    text('field name with a blank', `${CONTROL}My Field: x\n`, /a field name and a colon/),
    text('continuation of nothing', ` more\n${CONTROL}`, /continues a field/),
    text('blank line in a field', `${CONTROL} more\n \n more\n`, /is blank inside/),
    text('tab line in a field', `${CONTROL}\t\n`, /is blank inside/),
    text('no newline at the end', CONTROL.slice(0, -1), /does not end with a newline/),
    text('huge field', `${CONTROL}X-Huge: ${'x'.repeat(300_000)}\n`, /more than 256 KiB/),
    text('huge folded field', `${CONTROL}${' x\n'.repeat(100_000)}`, /more than 256 KiB/),
    text('huge control file', `${CONTROL}X-Huge: ${'x'.repeat(600_000)}\n`, /at most 512 KiB/),
    text('300 fields', CONTROL + Array.from({ length: 300 }, (_, i) => `X-${i}: x\n`).join(''), /more than 200 fields/),
  ])
}

async function values(): Promise<Row[]> {
  const line = async (name: string, field: string, to: string, why: RegExp): Promise<Row> => [
    name,
    await withLine(field, to),
    why,
  ]
  const more = async (name: string, added: Readonly<Record<string, string>>, why: RegExp): Promise<Row> => [
    name,
    await withFields(added),
    why,
  ]
  return Promise.all([
    more('Status', { Status: 'install ok installed' }, /the field Status/),
    more('Revision', { Revision: '5' }, /the field Revision/),
    line('newline in Package', 'Package', 'Package: odd\n Filename: pool/x.deb\n', /package name/),
    line('newline in Version', 'Version', 'Version: 1.0\n Size: 5\n', /version/),
    line('newline in Architecture', 'Architecture', 'Architecture: amd64\n i386\n', /architecture/),
    more('upper-case name', { Package: 'Odd' }, /package name "Odd" is not allowed/),
    more('name of one letter', { Package: 'x' }, /package name/),
    more('name with an underscore', { Package: 'odd_x' }, /package name/),
    more('name with a slash', { Package: '../odd' }, /package name/),
    more('name with a blank', { Package: 'odd x' }, /package name/),
    more('name with an architecture', { Package: 'odd:amd64' }, /package name/),
    more('name of 200 characters', { Package: 'o'.repeat(200) }, /at most 128/),
    more('name that is not ASCII', { Package: 'öd' }, /package name/),
    more('version that begins with a letter', { Version: 'v1.0' }, /must begin with a digit/),
    more('version with a blank', { Version: '1.0 1' }, /may hold only/),
    more('version with an underscore', { Version: '1.0_1' }, /may hold only/),
    more('version with a slash', { Version: '1.0/../../x' }, /may hold only/),
    more('version with an empty revision', { Version: '1.0-' }, /revision/),
    more('version with a text epoch', { Version: 'a:1.0' }, /epoch/),
    more('version with a huge epoch', { Version: '99999999999:1.0' }, /epoch/),
    more('version of 200 characters', { Version: '1'.repeat(200) }, /at most 128/),
    more('architecture any', { Architecture: 'any' }, /architecture "any"/),
    more('architecture wildcard', { Architecture: 'linux-any' }, /architecture/),
    more('architecture source', { Architecture: 'source' }, /architecture/),
    more('two architectures', { Architecture: 'amd64 i386' }, /architecture/),
    more('architecture with a path', { Architecture: '../amd64' }, /architecture/),
    more('relation that is none', { Depends: 'libc6 (>= )' }, /the field Depends holds/),
    more('relation with an unclosed bound', { Depends: 'libc6 (>= 2' }, /the field Depends holds/),
    more('relation with a bad version', { Depends: 'libc6 (>= two)' }, /the field Depends asks for/),
    more('relation with an unknown operator', { Depends: 'libc6 (!= 2)' }, /the field Depends holds/),
    more('relation with an architecture list', { Depends: 'libc6 [amd64]' }, /the field Depends holds/),
    more('relation with a build profile', { Depends: 'libc6 <!nocheck>' }, /the field Depends holds/),
    more('relation with a substitution left over', { Depends: '${shlibs:Depends}' }, /the field Depends holds/),
    more('relation with an empty entry', { Depends: 'a, , b' }, /the field Depends holds/),
    more('relation that ends in a comma', { 'Pre-Depends': 'a,' }, /the field Pre-Depends holds/),
    more('alternatives in Provides', { Provides: 'a | b' }, /Provides holds alternatives/),
    more('alternatives in Conflicts', { Conflicts: 'a | b' }, /Conflicts holds alternatives/),
    more('bad Source', { Source: '../../etc' }, /the field Source/),
    more('bad Source version', { Source: 'odd (one)' }, /the field Source/),
    more('bad Multi-Arch', { 'Multi-Arch': 'yes' }, /the field Multi-Arch/),
  ])
}

/** Packages that dpkg-deb reads and dpkg does not unpack. */
async function uninstallable(): Promise<Row[]> {
  const data = async (name: string, entries: readonly TarSpec[], why: RegExp): Promise<Row> => [
    name,
    await withData([ROOT, USR, ...entries]),
    why,
  ]
  const more = async (name: string, added: Readonly<Record<string, string>>, why: RegExp): Promise<Row> => [
    name,
    await withFields(added),
    why,
  ]
  const text = async (name: string, control: string, why: RegExp): Promise<Row> => [
    name,
    await withControl(control),
    why,
  ]
  const list = async (name: string, body: string, why: RegExp): Promise<Row> => [
    `${name} ${JSON.stringify(body.slice(0, 40))}`,
    await packDeb({
      control: tar([ROOT, { name: './control', body: CONTROL }, { name: `./${name}`, body }]),
      data: parts.data,
    }),
    why,
  ]
  return Promise.all([
    data('a name of 250 bytes', [{ name: `./usr/${'ä'.repeat(125)}`, body: 'x' }], /name of more than 246 bytes/),
    data('an entry without a name', [{ name: '', type: '5' }], /entry without a name/),
    data('an owner of 33 bits', [{ ...FILE, raw: { 108: '\x80\0\0\x01\0\0\0\0' } }], /owner of ".\/usr\/file"/),
    data('a group of 33 bits', [{ ...FILE, raw: { 116: '\x80\0\0\x01\0\0\0\0' } }], /group of/),
    data('a time of 64 bits and no sign', [{ ...FILE, raw: { 136: '\x80\0\0\0\x80\0\0\0\0\0\0\0' } }], /time of/),
    data('a time of 65 bits before 1970', [{ ...FILE, raw: { 136: '\xff\xff\xff\xff\0\0\0\0\0\0\0\0' } }], /time of/),
    more('Essential that is no yes or no', { Essential: 'maybe' }, /the field Essential/),
    more('Protected with a second word', { Protected: 'yes x' }, /the field Protected/),
    more('Priority with a second word', { Priority: 'optional\n x' }, /the field Priority/),
    more('Priority with an ending', { Priority: 'required-ish' }, /the field Priority/),
    more('a field of one letter', { D: 'x' }, /a field name and a colon/),
    more('alternatives in Replaces', { Replaces: 'a | b' }, /Replaces holds alternatives/),
    text('a carriage return alone in its line', `${CONTROL}\r\n`, /nothing but a carriage return/),
    text('a last field without a value', `${CONTROL}X-Foo:\n`, /ends with the field X-Foo/),
    ...[
      '/etc/x',
      'etc/x\n',
      ' /etc/x\n',
      'remove-on-upgrade\n',
      'remove-on-upgrade etc/x\n',
      'foo /etc/x\n',
      '# x\n',
      '\0\n',
      `/etc/${'y'.repeat(1100)}\n`,
    ].map(body => list('conffiles', body, /the list conffiles/)),
    list('conffiles', `remove-on-upgrade /${README}\n`, /wants ".*" removed, and the package brings it/),
    ...[
      'interest\n',
      'foo x\n',
      'interest x',
      'INTEREST x\n',
      'interest a b\n',
      'interest y # z\n',
      'interest /a//b\n',
      'interest \u0001\n',
      'activate é\n',
      '\0\n',
      `activate /${'x'.repeat(2000)}\n`,
    ].map(body => list('triggers', body, /the list triggers/)),
  ])
}

/** Those of the malformed packages that dpkg-deb reads, and dpkg refuses to unpack. */
export async function uninstallableDebs(): Promise<MalformedPackage[]> {
  return (await uninstallable()).map(([name, bytes, why]) => ({ name, bytes, why }))
}

/** Every way we know to build a wrong .deb. Takes about a second: one of them has 300,001 entries. */
export async function malformedDebs(): Promise<MalformedPackage[]> {
  const rows = (
    await Promise.all([structure(), compression(), names(), tars(), fields(), values(), uninstallable()])
  ).flat()
  return rows.map(([name, bytes, why]) => ({ name, bytes, why }))
}

/** Unusual packages that dpkg-deb reads and that must be taken. */
export async function oddDebs(): Promise<OddPackage[]> {
  const { binary, control, data } = await members()
  const long = `usr/share/${'long-name-'.repeat(12)}/file`
  const joined = Buffer.concat([
    await compress(parts.data.subarray(0, 700), 'gz'),
    await compress(parts.data.subarray(700), 'gz'),
  ])
  const oddBody = await oddSized()
  const data2 = async (entries: readonly TarSpec[]): Promise<Buffer> => withData([ROOT, USR, ...entries])
  const rows: readonly (readonly [string, Buffer, readonly string[]])[] = [
    ['uncompressed', await buildDeb({ ...SPEC, compression: 'none' }), [README]],
    ['zstd', await buildDeb({ ...SPEC, compression: 'zst' }), [README]],
    ['xz', await buildDeb({ ...SPEC, compression: 'xz' }), [README]],
    [
      'uncompressed control beside xz data',
      await buildDeb({ ...SPEC, compression: 'xz', controlCompression: 'none' }),
      [README],
    ],
    [
      'binary owner, group and time',
      await data2([
        { ...FILE, raw: { 108: '\x80\0\0\0\x0f\0\0\0', 116: '\x80\0\0\0\x0f\0\0\0', 136: `${'\xff'.repeat(11)}\xfe` } },
      ]),
      ['usr/file'],
    ],
    [
      'numbers of NULs and behind blanks',
      await data2([{ ...FILE, raw: { 100: '   644 \0', 108: '\0'.repeat(8), 136: '\0'.repeat(12) } }]),
      ['usr/file'],
    ],
    [
      'pax header in control.tar',
      await withControlTar([pax('comment', 'abcd', 'g'), ROOT, { name: './control', body: CONTROL }]),
      [README],
    ],
    [
      'GNU long names',
      await buildDeb({ ...SPEC, files: { [long]: 'x', 'usr/link': { symlink: `/${long}` } } }),
      [long, 'usr/link'],
    ],
    [
      'ustar with a prefix',
      await data2([{ name: 'file', prefix: './usr', magic: 'ustar\x0000', body: 'x' }]),
      ['usr/file'],
    ],
    [
      'tar of before POSIX',
      await withData([
        { ...ROOT, magic: '' },
        { ...USR, magic: '' },
        { ...FILE, type: '\0', magic: '' },
      ]),
      ['usr/file'],
    ],
    [
      'names without ./',
      await packDeb({
        control: tar([{ name: 'control', body: CONTROL }]),
        data: tar([
          { name: 'usr/', type: '5' },
          { name: 'usr/file', body: 'x' },
        ]),
      }),
      ['usr/file'],
    ],
    [
      'hard links',
      await buildDeb({
        ...SPEC,
        files: { 'usr/a': 'x', 'usr/b': { hardlink: 'usr/a' }, 'usr/c': { hardlink: 'usr/b' } },
      }),
      ['usr/a', 'usr/b', 'usr/c'],
    ],
    [
      'symlinks of every kind',
      await buildDeb({
        ...SPEC,
        files: {
          'usr/a': { symlink: '/etc/x' },
          'usr/lib/b': { symlink: '../../etc/x' },
          'usr/c': { symlink: 'nowhere' },
        },
      }),
      ['usr/a', 'usr/lib/b', 'usr/c'],
    ],
    ['empty data.tar', await withData([]), []],
    ['data.tar with the root alone', await withData([ROOT]), []],
    [
      'data.tar padded to 10 KiB',
      await packDeb({
        control: parts.control,
        data: Buffer.concat([parts.data, Buffer.alloc(10240 - (parts.data.length % 10240))]),
      }),
      [README],
    ],
    [
      'device nodes and a fifo',
      await data2([
        { name: './usr/null', type: '3' },
        { name: './usr/disk', type: '4' },
        { name: './usr/pipe', type: '6' },
      ]),
      ['usr/null', 'usr/disk', 'usr/pipe'],
    ],
    [
      'conffiles of every kind',
      await buildDeb({
        ...SPEC,
        files: { 'etc/odd': 'x', 'etc/it is': 'y' },
        scripts: { conffiles: '/etc/odd\n\n/etc/it is  \nremove-on-upgrade /etc/gone\n/not/there\n' },
      }),
      ['etc/odd', 'etc/it is'],
    ],
    [
      'triggers of every kind',
      await buildDeb({
        ...SPEC,
        scripts: {
          triggers:
            '# why\n\ninterest-noawait /usr/share/x\n  interest-await name.x+y  \nactivate a/b\nactivate-noawait\t/usr/y\n',
        },
      }),
      [README],
    ],
    [
      'priority and essential in other letters',
      await withFields({ Priority: 'OPTIONAL', Essential: 'YES', Protected: 'no' }),
      [README],
    ],
    [
      'a name of 246 bytes',
      await buildDeb({ ...SPEC, files: { [`usr/${'ä'.repeat(123)}`]: 'x' } }),
      [`usr/${'ä'.repeat(123)}`],
    ],
    [
      'setuid file',
      await buildDeb({ ...SPEC, files: { 'usr/bin/su': { content: 'x', mode: 0o4755 } } }),
      ['usr/bin/su'],
    ],
    ['repeated directory and file', await data2([USR, FILE, FILE]), ['usr/file']],
    [
      'members that dpkg skips',
      ar([
        binary,
        { name: '_first', body: 'x' },
        control,
        { name: '_second', body: 'xx' },
        data,
        { name: '_gpgorigin', body: 'signature' },
      ]),
      [README],
    ],
    ['format 2.1 with more lines', ar([{ ...binary, body: '2.1\nmore\n' }, control, data]), [README]],
    [
      'member names that end in a slash',
      ar([
        { ...binary, name: 'debian-binary/' },
        { ...control, name: 'control.tar.gz/' },
        { ...data, name: 'data.tar.gz/' },
      ]),
      [README],
    ],
    [
      'odd last member without padding',
      ar([binary, control, { name: 'data.tar.gz', body: oddBody, pad: '' }]),
      [README],
    ],
    ['joined gzip members', ar([binary, control, { name: 'data.tar.gz', body: joined }]), [README]],
    ['control file with CRLF', await withControl(CONTROL.replaceAll('\n', '\r\n')), [README]],
    ['control file with blank lines around', await withControl(`\n\n${CONTROL}\n\n`), [README]],
    [
      'control file with a blank before a colon',
      await withControl(`${CONTROL}Homepage : https://example.test/\n`),
      [README],
    ],
    [
      'folded relations',
      await withFields({ Depends: 'libc6,\n libx (>=\n  1.0) | liby', Provides: 'odd-api (= 1.0), odd-thing' }),
      [README],
    ],
    ['old relation operators', await withFields({ Depends: 'a (< 1), b (> 1), c (1), d(>=1)|e( << 2 )' }), [README]],
    [
      'empty optional fields',
      await withControl(CONTROL.replace('Maintainer:', 'Depends:\nRecommends: \nMaintainer:')),
      [README],
    ],
    [
      'no maintainer and no description',
      await withControl('Package: odd\nVersion: 1.0-1\nArchitecture: amd64\n'),
      [README],
    ],
    ['fields of an index', await withFields({ Filename: '../../x', Size: '1', SHA256: '00' }), [README]],
    [
      'maintainer scripts and conffiles',
      await buildDeb({
        ...SPEC,
        scripts: { postinst: '#!/bin/sh\n', conffiles: '/etc/odd\n', md5sums: '' },
        files: { 'etc/odd': 'x' },
      }),
      ['etc/odd'],
    ],
  ]
  return rows.map(([name, bytes, files]) => ({ name, bytes, files }))
}

/** A gzip stream of odd length over the usual payload: a file name in its header makes up the difference. */
async function oddSized(): Promise<Buffer> {
  const packed = await compress(parts.data, 'gz')
  if (packed.length % 2 === 1) return packed
  const flags = Buffer.from(packed.subarray(0, 10))
  flags[3] = 0x08
  return Buffer.concat([flags, Buffer.from('ab'), Buffer.alloc(1), packed.subarray(10)])
}
