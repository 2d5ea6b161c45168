import type { Row } from './malformed-deb-parts.ts'
import {
  CONTROL,
  FILE,
  README,
  ROOT,
  SPEC,
  USR,
  members,
  parts,
  withControl,
  withControlTar,
  withData,
  withFields,
} from './malformed-deb-parts.ts'
import type { MalformedPackage, OddPackage } from './malformed-suite.ts'
import type { TarSpec } from './packages.ts'
import { ar, buildDeb, compress, packDeb, pax, tar } from './packages.ts'

/** Packages that dpkg-deb reads and dpkg does not unpack. */
export async function uninstallable(): Promise<Row[]> {
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
