import type { Row } from './malformed-deb-parts.ts'
import {
  CONTROL,
  FILE,
  ROOT,
  USR,
  parts,
  withControl,
  withControlTar,
  withData,
  withFields,
  withLine,
} from './malformed-deb-parts.ts'
import type { TarSpec } from './packages.ts'
import { packDeb, pax, tarEntry } from './packages.ts'

export async function names(): Promise<Row[]> {
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

export async function tars(): Promise<Row[]> {
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

export async function fields(): Promise<Row[]> {
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

export async function values(): Promise<Row[]> {
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
