import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { open, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Sha256 } from '../../server/core/identity.ts'
import type { SpooledFile } from '../../server/files/spool.ts'

/** The antivirus test string, put together here so that no file of ours holds it. */
export const EICAR = ['X5O!P%@AP[4', '\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS', '-TEST-FILE!$H+H*'].join('')

export type PackageCompression = 'gz' | 'xz' | 'zst' | 'none'

/** What stands at a path of the payload: text or bytes of a file, or a link, or a file with a mode. */
export type FileSpec =
  | string
  | Buffer
  | { readonly symlink: string }
  | { readonly hardlink: string }
  | { readonly content?: string | Buffer; readonly mode: number }

export interface DebSpec {
  readonly name: string
  readonly version: string
  /** Default amd64. */
  readonly arch?: string
  /** More control fields, or others in place of the default ones; a value with line breaks is folded as it is. */
  readonly fields?: Readonly<Record<string, string>>
  /** Paths relative to the root, `usr/bin/hello`. Their folders are made. Default: one small file. */
  readonly files?: Readonly<Record<string, FileSpec>>
  /** `postinst`, `preinst`, `conffiles` and their kin. */
  readonly scripts?: Readonly<Record<string, string>>
  readonly compression?: PackageCompression
  readonly controlCompression?: PackageCompression
}

/** One tar header and body as raw as a test wants it. */
export interface TarSpec {
  readonly name: string | Buffer
  readonly body?: string | Buffer
  /** The type flag; `0` file, `2` symlink, `5` directory, `L` GNU long name, `x` pax. */
  readonly type?: string
  readonly link?: string
  readonly mode?: number
  /** What the header says, when it should not be the truth. */
  readonly size?: number | string
  readonly magic?: string
  readonly prefix?: string
  /** Text in place of the right one, by the byte of the header where it begins. */
  readonly raw?: Readonly<Record<number, string>>
  /** Added to the right checksum. */
  readonly checksumOff?: number
}

const BLOCK = 512
const bytes = (text: string | Buffer): Buffer => (typeof text === 'string' ? Buffer.from(text) : text)
const padding = (length: number): Buffer => Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK)

/** One entry: header, body, padding; a name of more than 100 bytes goes ahead of it the GNU way. */
export function tarEntry(spec: TarSpec): Buffer {
  const { type = '0', link = '', mode = type === '5' ? 0o755 : 0o644, magic = 'ustar  \0' } = spec
  const name = bytes(spec.name)
  const body = bytes(spec.body ?? '')
  const ahead: Buffer[] = []
  if (name.length > 100)
    ahead.push(tarEntry({ name: '././@LongLink', type: 'L', body: Buffer.concat([name, Buffer.alloc(1)]) }))
  if (Buffer.byteLength(link) > 100) ahead.push(tarEntry({ name: '././@LongLink', type: 'K', body: `${link}\0` }))
  const header = Buffer.alloc(BLOCK)
  name.copy(header, 0, 0, Math.min(100, name.length))
  header.write(`${mode.toString(8).padStart(7, '0')}\0${'0'.repeat(7)}\0${'0'.repeat(7)}\0`, 100, 'latin1')
  header.write(
    typeof spec.size === 'string' ? spec.size : `${(spec.size ?? body.length).toString(8).padStart(11, '0')}\0`,
    124,
    12,
    'latin1',
  )
  header.write('00000000000\0        ', 136, 'latin1')
  header.write(type, 156, 1, 'latin1')
  header.write(link, 157, 100)
  header.write(magic, 257, 8, 'latin1')
  header.write('root', 265, 'latin1')
  header.write('root', 297, 'latin1')
  if (spec.prefix !== undefined) header.write(spec.prefix, 345, 155)
  for (const [at, text] of Object.entries(spec.raw ?? {})) header.write(text, Number(at), 'latin1')
  let sum = spec.checksumOff ?? 0
  for (const byte of header) sum += byte
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return Buffer.concat([...ahead, header, body, padding(body.length)])
}

/** A pax header ahead of an entry: one record, with its right length. */
export function pax(key: string, value: string, type: 'x' | 'g' = 'x'): TarSpec {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  const length = rest + String(rest + String(rest).length).length
  return { name: './PaxHeader', type, body: `${length} ${key}=${value}\n` }
}

/** A tar with its end mark, padded to nothing more. */
export function tar(entries: readonly TarSpec[]): Buffer {
  return Buffer.concat([...entries.map(tarEntry), Buffer.alloc(2 * BLOCK)])
}

export interface ArSpec {
  readonly name: string
  readonly body: Buffer | string
  readonly size?: string
  readonly pad?: string
}

/** An ar archive. `size` lies about a member's size, `pad` is what fills an odd one. */
export function ar(members: readonly ArSpec[]): Buffer {
  const parts: Buffer[] = [Buffer.from('!<arch>\n')]
  for (const { name, body, size, pad = '\n' } of members) {
    const content = bytes(body)
    const sizeField = (size ?? String(content.length)).padEnd(10)
    parts.push(
      Buffer.from(
        `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${sizeField}\`\n`,
        'latin1',
      ),
    )
    parts.push(content)
    if (content.length % 2 === 1) parts.push(Buffer.from(pad))
  }
  return Buffer.concat(parts)
}

export async function compress(body: Buffer, how: PackageCompression): Promise<Buffer> {
  switch (how) {
    case 'none':
      return body
    case 'gz':
      return gzipSync(body, { level: 6 })
    // with a checksum, as dpkg-deb writes it
    case 'zst':
      return zstdCompressSync(body, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    case 'xz':
      return (await import('@napi-rs/lzma/xz')).compressSync(body)
  }
}

/** The control file: the required fields, then the others in the order they were given. */
export function controlText({ name, version, arch = 'amd64', fields = {} }: DebSpec): string {
  const all = {
    Package: name,
    Version: version,
    Architecture: arch,
    Maintainer: 'Test <test@example.test>',
    Description: `package ${name}`,
    ...fields,
  }
  return Object.entries(all)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('')
}

function payloadEntries(files: Readonly<Record<string, FileSpec>>): TarSpec[] {
  const entries: TarSpec[] = [{ name: './', type: '5' }]
  const folders = new Set<string>()
  for (const [path, spec] of Object.entries(files)) {
    const segments = path.split('/')
    for (let depth = 1; depth < segments.length; depth++) {
      const folder = segments.slice(0, depth).join('/')
      if (!folders.has(folder)) entries.push({ name: `./${folder}/`, type: '5' })
      folders.add(folder)
    }
    const name = `./${path}`
    if (typeof spec === 'string' || Buffer.isBuffer(spec)) entries.push({ name, body: spec })
    else if ('symlink' in spec) entries.push({ name, type: '2', link: spec.symlink, mode: 0o777 })
    else if ('hardlink' in spec) entries.push({ name, type: '1', link: `./${spec.hardlink}` })
    else entries.push({ name, body: spec.content ?? '', mode: spec.mode })
  }
  return entries
}

/** What is inside a .deb, before it is packed: tests bend one of the three and call `packDeb`. */
export interface DebParts {
  readonly control: Buffer
  readonly data: Buffer
}

export function debParts(spec: DebSpec): DebParts {
  const scripts = Object.entries(spec.scripts ?? {}).map(([name, body]) => ({ name: `./${name}`, body, mode: 0o755 }))
  return {
    control: tar([{ name: './', type: '5' }, { name: './control', body: controlText(spec) }, ...scripts]),
    data: tar(
      payloadEntries(spec.files ?? { [`usr/share/doc/${spec.name}/README`]: `${spec.name} ${spec.version}\n` }),
    ),
  }
}

const SUFFIX = { gz: '.gz', xz: '.xz', zst: '.zst', none: '' } as const

export async function packDeb(
  parts: DebParts,
  compression: PackageCompression = 'gz',
  controlCompression = compression,
): Promise<Buffer> {
  return ar([
    { name: 'debian-binary', body: '2.0\n' },
    { name: `control.tar${SUFFIX[controlCompression]}`, body: await compress(parts.control, controlCompression) },
    { name: `data.tar${SUFFIX[compression]}`, body: await compress(parts.data, compression) },
  ])
}

/**
 * A valid .deb, made in memory without dpkg: about 0.1 ms with the default compression (gz). Same input, same bytes.
 */
export function buildDeb(spec: DebSpec): Promise<Buffer> {
  return packDeb(debParts(spec), spec.compression, spec.controlCompression)
}

/** Writes bytes into `folder` as an upload would have arrived there. */
export async function spoolBytes(folder: string, filename: string, content: Buffer): Promise<SpooledFile> {
  const path = join(folder, `${basename(filename)}-${createHash('sha1').update(content).digest('hex').slice(0, 12)}`)
  await writeFile(path, content)
  return spoolPath(path, filename)
}

/** A file on disk as an upload that has arrived. Reads it once for the digests. */
export async function spoolPath(path: string, filename: string = basename(path)): Promise<SpooledFile> {
  const handle = await open(path, 'r')
  try {
    const hashes = {
      md5: createHash('md5'),
      sha1: createHash('sha1'),
      sha256: createHash('sha256'),
      sha512: createHash('sha512'),
    }
    let size = 0
    let head: Buffer | undefined
    for await (const chunk of handle.createReadStream({
      autoClose: false,
      highWaterMark: 256 * 1024,
    }) as AsyncIterable<Buffer>) {
      head ??= Buffer.from(chunk.subarray(0, 512))
      size += chunk.length
      for (const hash of Object.values(hashes)) hash.update(chunk)
    }
    const { md5, sha1, sha256, sha512 } = hashes
    return {
      path,
      filename,
      head: head ?? Buffer.alloc(0),
      blob: {
        size,
        md5: md5.digest('hex'),
        sha1: sha1.digest('hex'),
        sha256: sha256.digest('hex') as Sha256,
        sha512: sha512.digest('hex'),
      },
      discard: () => rm(path, { force: true }),
    }
  } finally {
    await handle.close()
  }
}
