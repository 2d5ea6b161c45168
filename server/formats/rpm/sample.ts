import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { createCpioWriter } from '../../lib/cpio-writer.ts'
import { SAMPLE } from '../sample.ts'

// types of a header's values; source: rpm 4.18, lib/rpmtag.h
const [INT16, INT32, STRING, BIN, STRINGS, I18N] = [3, 4, 6, 7, 8, 9]
const ALIGN: Readonly<Record<number, number>> = { [INT16]: 2, [INT32]: 4 }
type Tag = readonly [tag: number, type: number, count: number, bytes: Buffer]

const text = (tag: number, value: string, type = STRING): Tag => [tag, type, 1, Buffer.from(`${value}\0`)]
const texts = (tag: number, ...values: string[]): Tag => [
  tag,
  STRINGS,
  values.length,
  Buffer.from(values.map(value => `${value}\0`).join('')),
]
function numbers(tag: number, type: typeof INT16 | typeof INT32, ...values: number[]): Tag {
  const width = type === INT16 ? 2 : 4
  const bytes = Buffer.alloc(values.length * width)
  for (const [at, value] of values.entries()) bytes.writeUIntBE(value, at * width, width)
  return [tag, type, values.length, bytes]
}
const hash = (algorithm: string, ...parts: Buffer[]): Buffer =>
  createHash(algorithm).update(Buffer.concat(parts)).digest()

function indexed(tag: number, type: number, offset: number, count: number): Buffer {
  const entry = Buffer.alloc(16)
  for (const [at, value] of [tag, type, offset, count].entries()) entry.writeInt32BE(value, at * 4)
  return entry
}

/** A header whose region, `tag`, is around all of its values. */
function header(region: 62 | 63, tags: readonly Tag[]): Buffer {
  const index: Buffer[] = []
  const store: Buffer[] = []
  let at = 0
  for (const [tag, type, count, bytes] of tags.toSorted(([a], [b]) => a - b)) {
    const align = ALIGN[type] ?? 1
    const gap = (align - (at % align)) % align
    index.push(indexed(tag, type, at + gap, count))
    store.push(Buffer.alloc(gap), bytes)
    at += gap + bytes.length
  }
  const intro = Buffer.from('8eade801000000000000000000000000', 'hex')
  intro.writeUInt32BE(index.length + 1, 8)
  intro.writeUInt32BE(at + 16, 12)
  const trailer = indexed(region, BIN, -16 * (index.length + 1), 16)
  return Buffer.concat([intro, indexed(region, BIN, at, 16), ...index, ...store, trailer])
}

function leadOf(label: string): Buffer {
  const lead = Buffer.alloc(96)
  lead.write('edabeedb0300', 0, 'hex')
  lead.writeUInt16BE(1, 8)
  lead.write(label, 10, 65)
  lead.writeUInt16BE(1, 76)
  lead.writeUInt16BE(5, 78)
  return lead
}

/** Name, flags and version of what it needs and offers. Flags: 8 is `=`, 10 is `<=`, 1 << 24 is about rpm itself. */
function relations(): Tag[] {
  const own = (1 << 24) | 10
  return [
    texts(1047, SAMPLE.name),
    numbers(1112, INT32, 8),
    texts(1113, `${SAMPLE.version}-1`),
    texts(1049, '/bin/sh', 'rpmlib(CompressedFileNames)', 'rpmlib(FileDigests)', 'rpmlib(PayloadFilesHavePrefix)'),
    numbers(1048, INT32, 0, own, own, own),
    texts(1050, '', '3.0.4-1', '4.6.0-1', '4.0-1'),
  ]
}

function fileTags(): Tag[] {
  const { path, program, built } = SAMPLE
  const cut = path.lastIndexOf('/') + 1
  return [
    numbers(1028, INT32, program.length),
    numbers(1030, INT16, 0o100755),
    numbers(1033, INT16, 0),
    numbers(1034, INT32, built),
    texts(1035, hash('sha256', program).toString('hex')),
    texts(1036, ''),
    numbers(1037, INT32, 0),
    texts(1039, 'root'),
    texts(1040, 'root'),
    numbers(1045, INT32, 0xffffffff),
    numbers(1095, INT32, 1),
    numbers(1096, INT32, 1),
    texts(1097, ''),
    numbers(1116, INT32, 0),
    texts(1117, path.slice(cut)),
    texts(1118, `/${path.slice(0, cut)}`),
    numbers(5011, INT32, 8),
  ]
}

/** `gatehouse-hello-1.0-1.noarch.rpm` */
export function sample(): { readonly filename: string; readonly bytes: Buffer } {
  const { name, version, summary, text: about, path, program, license, built } = SAMPLE
  const label = `${name}-${version}-1`
  const writer = createCpioWriter()
  const cpio = Buffer.concat([
    ...writer.write({ type: 'file', name: `./${path}`, mode: 0o100755, size: program.length }),
    ...writer.write({ bytes: program }),
    writer.end(),
  ])
  const payload = gzipSync(cpio)
  const main = header(63, [
    texts(100, 'C'),
    text(1000, name),
    text(1001, version),
    text(1002, '1'),
    text(1004, summary, I18N),
    text(1005, about, I18N),
    numbers(1006, INT32, built),
    text(1007, 'localhost'),
    numbers(1009, INT32, program.length),
    text(1014, license),
    text(1016, 'Unspecified', I18N),
    text(1021, 'linux'),
    text(1022, 'noarch'),
    text(1044, `${label}.src.rpm`),
    text(1064, '4.18.0'),
    text(1124, 'cpio'),
    text(1125, 'gzip'),
    text(1126, '9'),
    text(1132, 'noarch-linux'),
    text(5062, 'utf-8'),
    texts(5092, hash('sha256', payload).toString('hex')),
    numbers(5093, INT32, 8),
    ...relations(),
    ...fileTags(),
  ])
  const signature = header(62, [
    text(269, hash('sha1', main).toString('hex')),
    text(273, hash('sha256', main).toString('hex')),
    numbers(1000, INT32, main.length + payload.length),
    [1004, BIN, 16, hash('md5', main, payload)],
    numbers(1007, INT32, cpio.length),
  ])
  const gap = Buffer.alloc((8 - (signature.length % 8)) % 8)
  return { filename: `${label}.noarch.rpm`, bytes: Buffer.concat([leadOf(label), signature, gap, main, payload]) }
}
