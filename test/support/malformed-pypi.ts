import { gzipSync } from 'node:zlib'
import { tar, type TarSpec } from './packages.ts'
import {
  buildWheel,
  distInfoOf,
  packSdist,
  packWheel,
  recordRow,
  sdistEntries,
  wheelEntries,
  type PythonSpec,
} from './packages-pypi.ts'
import { buildZip, type ZipEntry } from './zip.ts'

/** A file that must be refused, and what the reason must say. */
export interface MalformedPython {
  readonly name: string
  readonly filename: string
  readonly bytes: Buffer
  readonly why: RegExp
}

const HELLO: PythonSpec = { name: 'hello', version: '1.0' }
const INFO = distInfoOf(HELLO)
const WHL = 'hello-1.0-py3-none-any.whl'
const TGZ = 'hello-1.0.tar.gz'

const wheel = (name: string, bytes: Buffer, why: RegExp): MalformedPython => ({ name, filename: WHL, bytes, why })
const sdist = (name: string, bytes: Buffer, why: RegExp): MalformedPython => ({ name, filename: TGZ, bytes, why })

/** A wheel with a file beside its own. */
const withEntry = (entry: ZipEntry): Buffer => packWheel([entry, ...wheelEntries(HELLO)], INFO)
/** The same, where RECORD gives no sizes. */
const withLie = (entry: ZipEntry): Buffer => {
  const entries = [entry, ...wheelEntries(HELLO)]
  const record = entries.map(({ name, body }) => recordRow(name, body).replace(/\d+\n$/, '\n')).join('')
  return packWheel(entries, INFO, record)
}
const withRecord = (record: string): Buffer => packWheel(wheelEntries(HELLO), INFO, record)
const rows = (change: (row: string) => string = row => row): string =>
  wheelEntries(HELLO)
    .map(({ name, body }) => change(recordRow(name, body)))
    .join('')
/** A wheel with another METADATA, which RECORD digests rightly. */
const withMetadata = (text: string | Buffer): Buffer =>
  packWheel(
    wheelEntries(HELLO).map(entry => (entry.name.endsWith('/METADATA') ? { ...entry, body: text } : entry)),
    INFO,
  )
const withField = (key: string, value: string | readonly string[]): Buffer =>
  buildWheel({ ...HELLO, fields: { [key]: value } })

/** Bytes of a wheel, changed where a pattern stands. */
function patched(
  bytes: Buffer,
  find: string | Buffer,
  change: (bytes: Buffer, at: number) => void,
  last = false,
): Buffer {
  const copy = Buffer.from(bytes)
  const at = last ? copy.lastIndexOf(find, undefined, 'latin1') : copy.indexOf(find, 0, 'latin1')
  if (at < 0) throw new Error('the pattern is not there')
  change(copy, at)
  return copy
}
const PLAIN = buildWheel(HELLO)
const CENTRAL = 'PK\x01\x02'
const END = 'PK\x05\x06'

/** An extra field 0x7075 in the first entry of the directory. */
function renamedWheel(): Buffer {
  const extra = Buffer.concat([Buffer.from([0x75, 0x70, 9, 0, 1, 0, 0, 0, 0]), Buffer.from('evil')])
  const at = PLAIN.indexOf(CENTRAL, 0, 'latin1')
  const nameSize = PLAIN.readUInt16LE(at + 28)
  const cut = at + 46 + nameSize
  const copy = Buffer.concat([PLAIN.subarray(0, cut), extra, PLAIN.subarray(cut)])
  copy.writeUInt16LE(extra.length, at + 30)
  const end = copy.lastIndexOf(END, undefined, 'latin1')
  copy.writeUInt32LE(copy.readUInt32LE(end + 12) + extra.length, end + 12)
  return copy
}

/** A locator of 64 bits that leads nowhere. */
function badZip64(): Buffer {
  const end = PLAIN.lastIndexOf(END, undefined, 'latin1')
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  locator.writeBigUInt64LE(BigInt(end + 1_000_000), 8)
  return Buffer.concat([PLAIN.subarray(0, end), locator, PLAIN.subarray(end)])
}

const ZIPS: readonly MalformedPython[] = [
  wheel('no zip at all', Buffer.from('PK but nothing else'), /no zip/),
  wheel('an empty file', Buffer.alloc(0), /no zip/),
  wheel('a zip cut off in its directory', PLAIN.subarray(0, PLAIN.length - 30), /no zip, or it is cut off/),
  wheel('a member twice', withEntry({ name: 'hello.py', body: 'evil' }), /"hello.py" is twice/),
  wheel('a name with ..', withEntry({ name: '../evil.pth', body: 'x' }), /leads out of its folder/),
  wheel('an absolute name', withEntry({ name: '/etc/evil', body: 'x' }), /absolute/),
  wheel('a name with a backslash', withEntry({ name: '..\\evil', body: 'x' }), /backslash/),
  wheel('a name with a NUL', withEntry({ name: 'a.py\0.txt', body: 'x' }), /control character/),
  wheel('a name with a dot for a folder', withEntry({ name: 'a/./b.py', body: 'x' }), /not plain/),
  wheel('a name with an empty folder', withEntry({ name: 'a//b.py', body: 'x' }), /not plain/),
  wheel('a file below a file', withEntry({ name: 'hello.py/x', body: 'x' }), /lies below|twice/),
  wheel('an encrypted member', withEntry({ name: 'a', body: 'x', flags: 1 }), /encrypted/),
  wheel('a name of 300 bytes', withEntry({ name: 'n'.repeat(300), body: 'x' }), /more than 255 bytes/),
  wheel('a wrong checksum', withEntry({ name: 'a', body: 'x', crc: 1 }), /"a" in it is bad/),
  wheel('a size that is too small', withLie({ name: 'a', body: 'x'.repeat(500), size: 10 }), /larger than/),
  wheel('a size that is too large', withLie({ name: 'a', body: 'x', size: 100 }), /another size/),
  wheel(
    'a stored member with two sizes',
    withLie({ name: 'a', body: 'xyz', stored: true, size: 2 }),
    /stored, and the zip gives it two sizes/,
  ),
  wheel(
    'members that say to unpack to more than 8 GiB',
    packWheel([...['a', 'b', 'c'].map(name => ({ name, body: 'x', size: 0xfffffff0 })), ...wheelEntries(HELLO)], INFO),
    /more than 8 GiB/,
  ),
  wheel(
    'a bomb: 64 MiB of nothing behind a size of ten bytes',
    withLie({ name: 'a', body: Buffer.alloc(64 * 2 ** 20), size: 10 }),
    /larger than/,
  ),
  wheel(
    'METADATA that is a bomb: 64 MiB of nothing behind a size of ten bytes',
    packWheel(
      wheelEntries(HELLO).map(entry =>
        entry.name.endsWith('/METADATA') ? { ...entry, body: Buffer.alloc(64 * 2 ** 20), size: 10 } : entry,
      ),
      INFO,
    ),
    /larger than/,
  ),
  wheel(
    'a compression that is not read',
    patched(
      patched(PLAIN, CENTRAL, (b, at) => b.writeUInt16LE(12, at + 10)),
      'PK\x03\x04',
      (b, at) => b.writeUInt16LE(12, at + 8),
    ),
    /method 12/,
  ),
  wheel(
    'a name in a local header that differs',
    patched(PLAIN, 'hello.py', (b, at) => b.write('jello.py', at, 'latin1')),
    /says something else than the directory/,
  ),
  wheel(
    'two members at one place',
    patched(PLAIN, CENTRAL, (b, at) => b.writeUInt32LE(0, at + 42), true),
    /overlap|something else/,
  ),
  wheel(
    'a directory of more entries than it has',
    patched(PLAIN, END, (b, at) => b.writeUInt16LE(9, at + 10)),
    /directory of the zip/,
  ),
  wheel(
    'a directory outside',
    patched(PLAIN, END, (b, at) => b.writeUInt32LE(0xfffffff, at + 16)),
    /outside/,
  ),
  wheel('two end records', Buffer.concat([PLAIN, PLAIN.subarray(-22)]), /two end records|directory/),
  wheel(
    'a zip before the zip',
    Buffer.concat([buildZip([{ name: 'evil.py', body: 'x' }]), PLAIN]),
    /different archives|end records/,
  ),
  wheel('a second name in an extra field', renamedWheel(), /second name/),
  wheel('a locator of 64 bits that leads nowhere', badZip64(), /64 bits|outside/),
  wheel(
    'a name that is not UTF-8',
    patched(
      patched(withEntry({ name: 'hällo.py', body: 'x' }), Buffer.from('hällo'), (b, at) => b.writeUInt8(0xff, at + 1)),
      Buffer.from('hällo'),
      (b, at) => b.writeUInt8(0xff, at + 1),
      true,
    ),
    /not UTF-8/,
  ),
  wheel(
    'a name that is not marked as UTF-8',
    patched(
      patched(withEntry({ name: 'hällo.py', body: 'x' }), CENTRAL, (b, at) => b.writeUInt16LE(0, at + 8)),
      'PK\x03\x04',
      (b, at) => b.writeUInt16LE(0, at + 6),
    ),
    /not marked as UTF-8/,
  ),
]

const HEADERS = 'Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n'
const WHEELS: readonly MalformedPython[] = [
  wheel('no .dist-info', buildZip([{ name: 'hello.py', body: 'x' }]), /no \.dist-info/),
  wheel(
    'two .dist-info folders',
    withEntry({ name: 'other-1.0.dist-info/METADATA', body: HEADERS }),
    /two \.dist-info/,
  ),
  wheel('the .dist-info of another name', buildWheel({ name: 'jello', version: '1.0' }), /not named after/),
  wheel('the .dist-info of another version', buildWheel({ name: 'hello', version: '2.0' }), /not named after/),
  wheel(
    'no METADATA',
    packWheel(
      wheelEntries(HELLO).filter(({ name }) => !name.endsWith('METADATA')),
      INFO,
    ),
    /no hello-1.0.dist-info\/METADATA/,
  ),
  wheel(
    'no WHEEL',
    packWheel(
      wheelEntries(HELLO).filter(({ name }) => !name.endsWith('/WHEEL')),
      INFO,
    ),
    /no hello-1.0.dist-info\/WHEEL/,
  ),
  wheel('no RECORD', buildZip(wheelEntries(HELLO)), /no hello-1.0.dist-info\/RECORD/),
  wheel(
    'a WHEEL of version 2',
    packWheel(
      wheelEntries(HELLO).map(one => (one.name.endsWith('/WHEEL') ? { ...one, body: 'Wheel-Version: 2.0\n' } : one)),
      INFO,
    ),
    /of the version "2.0"/,
  ),
  wheel(
    'METADATA of another name',
    withField('Name', 'jello'),
    /file name says "hello 1.0" and METADATA says "jello 1.0"/,
  ),
  wheel('METADATA of another version', withField('Version', '1.1'), /both must name the same/),
  wheel('METADATA with two names', withField('Name', ['hello', 'jello']), /more than once/),
  wheel('METADATA without a name', withMetadata('Metadata-Version: 2.1\nVersion: 1.0\n'), /no field Name/),
  wheel('METADATA without its version', withMetadata('Name: hello\nVersion: 1.0\n'), /no field Metadata-Version/),
  wheel('METADATA of version 3', withField('Metadata-Version', '3.0'), /metadata version "3.0"/),
  wheel(
    'METADATA that is not UTF-8',
    withMetadata(Buffer.from(`${HEADERS}Summary: h\xe4llo\n`, 'latin1')),
    /METADATA is not UTF-8/,
  ),
  wheel('METADATA with a NUL', withMetadata(`${HEADERS}\na\0b`), /NUL/),
  wheel('METADATA with an escape', withField('Summary', 'a\x1b[2J'), /control character/),
  wheel('METADATA with a line that is no header', withMetadata(`${HEADERS}hello\n`), /no header/),
  wheel('METADATA that begins in the middle', withMetadata(` x\n${HEADERS}`), /goes on from none/),
  wheel('METADATA of 5 MiB', withMetadata(`${HEADERS}\n${'x'.repeat(5 * 2 ** 20)}`), /at most 4 MiB/),
  wheel(
    'METADATA with 6,000 headers',
    withField(
      'Classifier',
      Array.from({ length: 6000 }, (_, n) => `x${n}`),
    ),
    /more than 5000 headers/,
  ),
  wheel('METADATA with a line of 100 kB', withField('Summary', 'x'.repeat(100_000)), /line of more than 64 KiB/),
  wheel('a requirement that is none', withField('Requires-Dist', 'a b c'), /Requires-Dist/),
  wheel('a Requires-Python that is none', withField('Requires-Python', 'three'), /Requires-Python/),
  wheel(
    'a RECORD with a wrong digest',
    withRecord(rows(row => row.replace(/sha256=[^,]+/, `sha256=${'A'.repeat(43)}`))),
    /RECORD says that .* has the sha256/,
  ),
  wheel('a RECORD with a wrong size', withRecord(rows(row => row.replace(/\d+\n$/, '7\n'))), /has 7 bytes/),
  wheel(
    'a RECORD with MD5',
    withRecord(rows(row => row.replace(/sha256=[^,]+/, 'md5=XUFAKrxLKna5cZ2REBfFkg'))),
    /sha256, sha384 or sha512 is needed/,
  ),
  wheel('a RECORD without digests', withRecord(rows(row => row.replace(/,.*/, ',,'))), /is needed/),
  wheel(
    'a RECORD without a file',
    withRecord(rows(row => (row.startsWith('hello.py') ? '' : row))),
    /RECORD does not name "hello.py"/,
  ),
  wheel(
    'a RECORD with a file that is not there',
    withRecord(`${rows()}${recordRow('evil.py', 'x')}`),
    /names "evil.py", which is not in it/,
  ),
  wheel('a RECORD with a file twice', withRecord(rows(row => row + row)), /twice/),
  wheel('a RECORD with two columns', withRecord('hello.py,x\n'), /path, digest and size/),
  wheel('a RECORD that is no CSV', withRecord('"hello.py,x\n'), /no CSV/),
]

const folder = 'hello-1.0'
const withTar = (...more: readonly TarSpec[]): Buffer => packSdist([...sdistEntries(HELLO), ...more])
const GOOD = packSdist(sdistEntries(HELLO))
const SDISTS: readonly MalformedPython[] = [
  sdist('no gzip at all', Buffer.from('not a gzip, but long enough to be one'), /does not begin as a gzip/),
  sdist('cut off', GOOD.subarray(0, GOOD.length - 12), /damaged or cut off/),
  sdist('bytes behind the gzip', Buffer.concat([GOOD, gzipSync(Buffer.from('evil'))]), /bytes follow the end/),
  sdist('a name with ..', withTar({ name: `${folder}/../../evil`, body: 'x' }), /leads out/),
  sdist('an absolute name', withTar({ name: '/etc/evil', body: 'x' }), /not in a folder|absolute/),
  sdist('a second folder', withTar({ name: 'evil/setup.py', body: 'x' }), /not in a folder "hello-1.0"/),
  sdist(
    'a symlink that leads out',
    withTar({ name: `${folder}/l`, type: '2', link: '../../etc/passwd' }),
    /leads above the root/,
  ),
  sdist(
    'a file through a symlink',
    withTar({ name: `${folder}/l`, type: '2', link: '.' }, { name: `${folder}/l/x`, body: 'x' }),
    /through/,
  ),
  sdist(
    'a hard link that leads out',
    withTar({ name: `${folder}/l`, type: '1', link: '../x' }),
    /leads out|no file before/,
  ),
  sdist('a device', withTar({ name: `${folder}/d`, type: '3' }), /a char, which no source release needs/),
  sdist('no PKG-INFO', packSdist([{ name: `${folder}/setup.py`, body: 'x' }]), /no PKG-INFO/),
  sdist('PKG-INFO twice', withTar({ name: `${folder}/PKG-INFO`, body: HEADERS }), /PKG-INFO twice/),
  sdist(
    'PKG-INFO of another name',
    packSdist(sdistEntries({ ...HELLO, fields: { Name: 'jello' } })),
    /PKG-INFO says "jello 1.0"/,
  ),
  sdist('a folder of another version', packSdist(sdistEntries({ ...HELLO, version: '1.1' })), /not in a folder/),
  sdist('no end mark', gzipSync(tar(sdistEntries(HELLO)).subarray(0, -1024)), /end mark/),
  sdist(
    'something behind the end mark',
    gzipSync(Buffer.concat([tar(sdistEntries(HELLO)), tar([{ name: 'evil', body: 'x' }])])),
    /behind its end mark/,
  ),
  sdist('a header with a wrong checksum', withTar({ name: `${folder}/x`, checksumOff: 1 }), /checksum is wrong/),
  sdist('a name of 5,000 characters', withTar({ name: `${folder}/${'x'.repeat(5000)}` }), /long name|more than/),
  sdist(
    'PKG-INFO of 5 MiB',
    packSdist([{ name: `${folder}/PKG-INFO`, body: 'x'.repeat(5 * 2 ** 20) }]),
    /at most 4 MiB/,
  ),
]

const NAMES: readonly MalformedPython[] = [
  ...[
    'hello.whl',
    'hello-1.0.whl',
    'hello-1.0-py3-none.whl',
    'hello-1.0.zip',
    'hello.tar.gz',
    '../hello-1.0.tar.gz',
  ].map(filename => ({
    name: `a file called ${filename}`,
    filename,
    bytes: PLAIN,
    why: /name is not that of a wheel/,
  })),
  { name: 'a wheel called a source release', filename: TGZ, bytes: PLAIN, why: /does not begin as a gzip/ },
  { name: 'a source release called a wheel', filename: WHL, bytes: GOOD, why: /no zip/ },
  {
    name: 'a version that is none',
    filename: 'hello-one.tar.gz',
    bytes: packSdist(sdistEntries({ name: 'hello', version: 'one' })),
    why: /PEP 440/,
  },
]

export const MALFORMED_PYTHON: readonly MalformedPython[] = [...ZIPS, ...WHEELS, ...SDISTS, ...NAMES]
