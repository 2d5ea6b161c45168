// A writer of a whole binary format for tests, tables of tags included, so longer than other files.
import { createHash } from 'node:crypto'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { spawnSync } from 'node:child_process'
import type { FileSpec } from './packages.ts'
import { findProgram } from './tools.ts'

export type RpmCompression = 'gz' | 'xz' | 'zst' | 'bz2' | 'lzma' | 'none'
/** Those that can be made here: bzip2 needs its program, which `.ci/packages` names. */
export const RPM_COMPRESSIONS: readonly RpmCompression[] =
  findProgram('bzip2') === undefined ? ['gz', 'xz', 'zst', 'lzma', 'none'] : ['gz', 'xz', 'zst', 'bz2', 'lzma', 'none']
/** As for a .deb, and what only an rpm has: a folder it owns, a file it owns and does not bring. */
export type RpmFileSpec = FileSpec | { readonly dir: true } | { readonly ghost: true }
export type RpmScript = 'pre' | 'post' | 'preun' | 'postun' | 'pretrans' | 'posttrans' | 'verify'

export interface RpmSpec {
  readonly name: string
  readonly version: string
  readonly release: string
  readonly epoch?: number
  /** Default x86_64. */
  readonly arch?: string
  /** Paths relative to the root, `usr/bin/hello`. Default: one small file. */
  readonly files?: Readonly<Record<string, RpmFileSpec>>
  /**
   * As a spec file writes them: `libfoo >= 1:2.0-1`, `/bin/sh`, `(a or b)`, `pre:/bin/sh` for one that scripts need.
   */
  readonly requires?: readonly string[]
  /** Beside its own name and `name(arch)`. */
  readonly provides?: readonly string[]
  readonly conflicts?: readonly string[]
  readonly obsoletes?: readonly string[]
  readonly recommends?: readonly string[]
  readonly suggests?: readonly string[]
  readonly supplements?: readonly string[]
  readonly enhances?: readonly string[]
  readonly scripts?: Readonly<Partial<Record<RpmScript, string>>>
  /** Newest first; `at` in seconds since 1970. */
  readonly changelog?: readonly { readonly author: string; readonly at: number; readonly text: string }[]
  /** Default gz. bz2 is made by the program of that name. */
  readonly compression?: RpmCompression
  readonly summary?: string
  readonly description?: string
  readonly license?: string
  readonly vendor?: string
  readonly packager?: string
  readonly url?: string
  readonly group?: string
  /** Default `<name>-<version>-<release>.src.rpm`; '' makes it a source package. */
  readonly sourcerpm?: string
  readonly modularity?: string
  /** Seconds since 1970. Default 1 700 000 000, so that the same input gives the same bytes. */
  readonly built?: number
  /** Writes the payload in the form for files above 4 GiB: `07070X` and sizes in the header alone. */
  readonly large?: true
}

/**
 * One value of a header: its bytes as they are stored. Types: 1 char, 2–5 int8–64, 6 string, 7 bin, 8 string array, 9
 * i18n.
 */
export interface RpmTag {
  readonly tag: number
  readonly type: number
  readonly count: number
  readonly data: Buffer
}

const ALIGN: Readonly<Record<number, number>> = { 3: 2, 4: 4, 5: 8 }
const cString = (text: string): Buffer => Buffer.from(`${text}\0`)

export const stringTag = (tag: number, text: string): RpmTag => ({ tag, type: 6, count: 1, data: cString(text) })
export const i18nTag = (tag: number, text: string): RpmTag => ({ tag, type: 9, count: 1, data: cString(text) })
export const stringsTag = (tag: number, texts: readonly string[]): RpmTag => ({
  tag,
  type: 8,
  count: texts.length,
  data: Buffer.concat(texts.map(cString)),
})
export const binTag = (tag: number, data: Buffer): RpmTag => ({ tag, type: 7, count: data.length, data })
export function int16Tag(tag: number, values: readonly number[]): RpmTag {
  const data = Buffer.alloc(values.length * 2)
  values.forEach((value, i) => data.writeUInt16BE(value, i * 2))
  return { tag, type: 3, count: values.length, data }
}
export function int32Tag(tag: number, values: readonly number[]): RpmTag {
  const data = Buffer.alloc(values.length * 4)
  values.forEach((value, i) => data.writeUInt32BE(value >>> 0, i * 4))
  return { tag, type: 4, count: values.length, data }
}
export function int64Tag(tag: number, values: readonly number[]): RpmTag {
  const data = Buffer.alloc(values.length * 8)
  values.forEach((value, i) => data.writeBigUInt64BE(BigInt(value), i * 8))
  return { tag, type: 5, count: values.length, data }
}

/** One index entry as raw as a test wants it. */
export function indexEntry(tag: number, type: number, offset: number, count: number): Buffer {
  const entry = Buffer.alloc(16)
  entry.writeInt32BE(tag, 0)
  entry.writeUInt32BE(type, 4)
  entry.writeInt32BE(offset, 8)
  entry.writeUInt32BE(count >>> 0, 12)
  return entry
}

/** The 16 bytes a header begins with. */
export function headerIntro(entries: number, dataBytes: number): Buffer {
  const intro = Buffer.from('8eade80100000000'.padEnd(32, '0'), 'hex')
  intro.writeUInt32BE(entries >>> 0, 8)
  intro.writeUInt32BE(dataBytes >>> 0, 12)
  return intro
}

/**
 * A header, sorted by number, with its region (62 in the signature, 63 in the main header) around all tags; rpm 3 wrote
 * none.
 */
export function encodeHeader(tags: readonly RpmTag[], region?: 62 | 63): Buffer {
  const sorted = tags.toSorted((a, b) => a.tag - b.tag)
  const index: Buffer[] = []
  const data: Buffer[] = []
  let at = 0
  for (const { tag, type, count, data: bytes } of sorted) {
    const align = ALIGN[type] ?? 1
    const pad = (align - (at % align)) % align
    index.push(indexEntry(tag, type, at + pad, count))
    data.push(Buffer.alloc(pad), bytes)
    at += pad + bytes.length
  }
  if (region === undefined) return Buffer.concat([headerIntro(sorted.length, at), ...index, ...data])
  const trailer = indexEntry(region, 7, -16 * (sorted.length + 1), 16)
  return Buffer.concat([
    headerIntro(sorted.length + 1, at + 16),
    indexEntry(region, 7, at, 16),
    ...index,
    ...data,
    trailer,
  ])
}

/** The 96 bytes before the signature header; only its first ones mean anything today. */
export function rpmLead(nevr: string, source = false): Buffer {
  const lead = Buffer.alloc(96)
  lead.write('edabeedb0300', 0, 'hex')
  lead.writeUInt16BE(source ? 1 : 0, 6)
  lead.writeUInt16BE(1, 8)
  lead.write(nevr, 10, 65)
  lead.writeUInt16BE(1, 76)
  lead.writeUInt16BE(5, 78)
  return lead
}

/** One entry of a cpio archive as raw as a test wants it. */
export interface CpioSpec {
  readonly name: string | Buffer
  readonly body?: string | Buffer
  readonly mode?: number
  readonly ino?: number
  readonly nlink?: number
  /** Fields by position (0 ino … 6 filesize … 11 namesize, 12 check) in place of the right ones: eight characters. */
  readonly raw?: Readonly<Record<number, string>>
  readonly magic?: string
}

const pad4 = (length: number): Buffer => Buffer.alloc((4 - (length % 4)) % 4)

export function cpioEntry({
  name,
  body = '',
  mode = 0o100644,
  ino = 1,
  nlink = 1,
  raw = {},
  magic = '070701',
}: CpioSpec): Buffer {
  const path = Buffer.concat([Buffer.from(name), Buffer.alloc(1)])
  const content = Buffer.from(body)
  const fields = [ino, mode, 0, 0, nlink, 0, content.length, 0, 0, 0, 0, path.length, 0].map(
    (value, i) => raw[i] ?? value.toString(16).padStart(8, '0'),
  )
  const head = Buffer.concat([Buffer.from(magic + fields.join('')), path])
  return Buffer.concat([head, pad4(head.length), content, pad4(content.length)])
}

/** The entry that ends an archive. */
export const CPIO_END = cpioEntry({ name: 'TRAILER!!!', mode: 0, ino: 0 })

export async function compressPayload(payload: Buffer, how: RpmCompression): Promise<Buffer> {
  switch (how) {
    case 'none':
      return payload
    case 'gz':
      return gzipSync(payload, { level: 9 })
    case 'zst':
      return zstdCompressSync(payload, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    case 'xz':
      return (await import('@napi-rs/lzma/xz')).compressSync(payload)
    case 'lzma':
      return (await import('@napi-rs/lzma/lzma')).compressSync(payload)
    case 'bz2': {
      const { stdout, status } = spawnSync('bzip2', ['-c'], { input: payload, maxBuffer: 2 ** 30 })
      if (status !== 0) throw new Error('the program bzip2 did not succeed')
      return stdout
    }
  }
}

interface BuiltFile {
  readonly path: string
  readonly mode: number
  readonly content: Buffer
  readonly link: string
  readonly ghost: boolean
  ino: number
  nlink: number
}

function listFiles(files: Readonly<Record<string, RpmFileSpec>>): BuiltFile[] {
  const list: BuiltFile[] = []
  const names = new Map<string, string>()
  for (const [path, spec] of Object.entries(files)) {
    const plain = (content: string | Buffer, mode: number): BuiltFile => ({
      path,
      mode: 0o100000 | mode,
      content: Buffer.from(content),
      link: '',
      ghost: false,
      ino: 0,
      nlink: 1,
    })
    if (typeof spec === 'string' || Buffer.isBuffer(spec)) list.push(plain(spec, path.includes('bin/') ? 0o755 : 0o644))
    else if ('symlink' in spec) list.push({ ...plain(spec.symlink, 0), mode: 0o120777, link: spec.symlink })
    else if ('dir' in spec) list.push({ ...plain('', 0), mode: 0o040755 })
    else if ('ghost' in spec) list.push({ ...plain('', 0o644), ghost: true })
    else if ('hardlink' in spec) names.set(path, spec.hardlink)
    else list.push(plain(spec.content ?? '', spec.mode))
  }
  for (const [path, target] of names) {
    const file = list.find(one => one.path === target)
    if (file === undefined) throw new Error(`the hard link ${path} leads to ${target}, which is not there`)
    list.push({ ...file, path })
  }
  list.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
  const first = (file: BuiltFile): string => names.get(file.path) ?? file.path
  const groups = Map.groupBy(list, first)
  for (const [index, group] of [...groups.values()].entries())
    for (const file of group) Object.assign(file, { ino: index + 1, nlink: group.length })
  return list
}

/** Content of hard links stands with the last of them, as rpm writes it. */
function cpioOf(files: readonly BuiltFile[], large: boolean): Buffer {
  const entries = files.flatMap((file, index) => {
    if (file.ghost) return []
    const isLast = !files.slice(index + 1).some(other => other.ino === file.ino)
    const body = isLast ? file.content : Buffer.alloc(0)
    if (large) {
      const head = Buffer.from(`07070X${index.toString(16).padStart(8, '0')}`)
      return [Buffer.concat([head, pad4(head.length), body, pad4(body.length)])]
    }
    return [cpioEntry({ name: `./${file.path}`, body, mode: file.mode, ino: file.ino, nlink: file.nlink })]
  })
  return Buffer.concat([...entries, CPIO_END])
}

const hasDigest = ({ mode, ghost }: BuiltFile): boolean => (mode & 0o170000) === 0o100000 && !ghost

function fileTags(
  files: readonly BuiltFile[],
  built: number,
  { large, isSource }: Record<'large' | 'isSource', boolean>,
): RpmTag[] {
  if (files.length === 0) return []
  const folder = ({ path }: BuiltFile): string => (isSource ? '' : `/${path.slice(0, path.lastIndexOf('/') + 1)}`)
  const folders = [...new Set(files.map(folder))]
  const sizes = files.map(file => ((file.mode & 0o170000) === 0o040000 ? 4096 : file.content.length))
  return [
    large ? int64Tag(5008, sizes) : int32Tag(1028, sizes),
    int16Tag(
      1030,
      files.map(({ mode }) => mode),
    ),
    int16Tag(
      1033,
      files.map(() => 0),
    ),
    int32Tag(
      1034,
      files.map(() => built),
    ),
    stringsTag(
      1035,
      files.map(file => (hasDigest(file) ? createHash('sha256').update(file.content).digest('hex') : '')),
    ),
    stringsTag(
      1036,
      files.map(({ link }) => link),
    ),
    int32Tag(
      1037,
      files.map(({ ghost }) => (ghost ? 64 : 0)),
    ),
    stringsTag(
      1039,
      files.map(() => 'root'),
    ),
    stringsTag(
      1040,
      files.map(() => 'root'),
    ),
    int32Tag(
      1045,
      files.map(() => 0xffffffff),
    ),
    int32Tag(
      1095,
      files.map(() => 1),
    ),
    int32Tag(
      1096,
      files.map(({ ino }) => ino),
    ),
    stringsTag(
      1097,
      files.map(() => ''),
    ),
    int32Tag(
      1116,
      files.map(file => folders.indexOf(folder(file))),
    ),
    stringsTag(
      1117,
      files.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)),
    ),
    stringsTag(1118, folders),
    int32Tag(5011, [8]),
  ]
}

const OPS: Readonly<Record<string, number>> = { '<': 2, '>': 4, '=': 8, '<=': 10, '>=': 12 }

/** `libfoo >= 1.0` as name, flags, version. */
function dependency(text: string): { name: string; flags: number; version: string } {
  const pre = text.startsWith('pre:') ? 64 | 512 : 0
  const plain = text.replace(/^pre:/, '')
  const match = plain.startsWith('(') ? null : /^(\S+)\s+(<=|>=|<|>|=)\s+(\S+)$/.exec(plain)
  if (match === null) return { name: plain, flags: pre, version: '' }
  const [, name = '', op = '=', version = ''] = match
  return { name, flags: pre | (OPS[op] ?? 8) | (name.startsWith('rpmlib(') ? 1 << 24 : 0), version }
}

function dependencyTags(
  list: readonly string[] | undefined,
  [name, flags, version]: readonly [number, number, number],
): RpmTag[] {
  if (list === undefined || list.length === 0) return []
  const all = list.map(dependency)
  return [
    stringsTag(
      name,
      all.map(one => one.name),
    ),
    int32Tag(
      flags,
      all.map(one => one.flags),
    ),
    stringsTag(
      version,
      all.map(one => one.version),
    ),
  ]
}

const RPMLIB: Readonly<Record<RpmCompression, readonly string[]>> = {
  gz: [],
  none: [],
  xz: ['rpmlib(PayloadIsXz) <= 5.2-1'],
  zst: ['rpmlib(PayloadIsZstd) <= 5.4.18-1'],
  bz2: ['rpmlib(PayloadIsBzip2) <= 3.0.5-1'],
  lzma: ['rpmlib(PayloadIsLzma) <= 4.4.6-1'],
}
const COMPRESSOR: Readonly<Record<RpmCompression, string>> = {
  gz: 'gzip',
  xz: 'xz',
  zst: 'zstd',
  bz2: 'bzip2',
  lzma: 'lzma',
  none: 'none',
}
/** The tags of a script and of what runs it. */
const SCRIPTS: Readonly<Record<RpmScript, readonly [script: number, program: number]>> = {
  pre: [1023, 1085],
  post: [1024, 1086],
  preun: [1025, 1087],
  postun: [1026, 1088],
  pretrans: [1151, 1153],
  posttrans: [1152, 1154],
  verify: [1079, 1091],
}
const ARCH_SUFFIX: Readonly<Record<string, string>> = { x86_64: '(x86-64)', aarch64: '(aarch-64)' }

function allDependencies(spec: RpmSpec, evr: string): RpmTag[] {
  const { name, arch = 'x86_64', compression = 'gz' } = spec
  const suffix = ARCH_SUFFIX[arch]
  const rpmlib = [
    'rpmlib(CompressedFileNames) <= 3.0.4-1',
    'rpmlib(FileDigests) <= 4.6.0-1',
    'rpmlib(PayloadFilesHavePrefix) <= 4.0-1',
    ...RPMLIB[compression],
    ...(spec.large === true ? ['rpmlib(LargeFiles) <= 4.12.0-1'] : []),
    ...(spec.requires?.some(one => one.startsWith('(')) === true ? ['rpmlib(RichDependencies) <= 4.12.0-1'] : []),
  ]
  return [
    ...dependencyTags([...(spec.requires ?? []), ...rpmlib], [1049, 1048, 1050]),
    ...dependencyTags(
      [`${name} = ${evr}`, ...(suffix === undefined ? [] : [`${name}${suffix} = ${evr}`]), ...(spec.provides ?? [])],
      [1047, 1112, 1113],
    ),
    ...dependencyTags(spec.conflicts, [1054, 1053, 1055]),
    ...dependencyTags(spec.obsoletes, [1090, 1114, 1115]),
    ...dependencyTags(spec.recommends, [5046, 5048, 5047]),
    ...dependencyTags(spec.suggests, [5049, 5051, 5050]),
    ...dependencyTags(spec.supplements, [5052, 5054, 5053]),
    ...dependencyTags(spec.enhances, [5055, 5057, 5056]),
  ]
}

function changelogTags(changelog: RpmSpec['changelog'] = []): RpmTag[] {
  if (changelog.length === 0) return []
  return [
    int32Tag(
      1080,
      changelog.map(({ at }) => at),
    ),
    stringsTag(
      1081,
      changelog.map(({ author }) => author),
    ),
    stringsTag(
      1082,
      changelog.map(({ text }) => text),
    ),
  ]
}

/** What an rpm is made of, before it is packed: tests bend a part and call `packRpm`. */
export interface RpmParts {
  readonly lead: Buffer
  /** Of the main header, without its region. */
  readonly tags: readonly RpmTag[]
  /** As it lies in the file: compressed. */
  readonly payload: Buffer
  readonly payloadBytes: number
  /** What the digests of files are over, in the order of the header; undefined where a file has none. */
  readonly contents: readonly (Buffer | undefined)[]
}

export async function rpmParts(spec: RpmSpec): Promise<RpmParts> {
  const { name, version, release, epoch, arch = 'x86_64', built = 1_700_000_000, compression = 'gz', large } = spec
  const evr = `${epoch === undefined ? '' : `${epoch}:`}${version}-${release}`
  const files = listFiles(
    spec.files ?? { [spec.sourcerpm === '' ? `${name}.spec` : `usr/share/doc/${name}/README`]: `${name} ${evr}\n` },
  )
  const cpio = cpioOf(files, large === true)
  const payload = await compressPayload(cpio, compression)
  const text = (tag: number, value: string | undefined): RpmTag[] =>
    value === undefined ? [] : [stringTag(tag, value)]
  const sourcerpm = spec.sourcerpm ?? `${name}-${version}-${release}.src.rpm`
  const tags: RpmTag[] = [
    stringsTag(100, ['C']),
    stringTag(1000, name),
    stringTag(1001, version),
    stringTag(1002, release),
    ...(epoch === undefined ? [] : [int32Tag(1003, [epoch])]),
    i18nTag(1004, spec.summary ?? `package ${name}`),
    i18nTag(1005, spec.description ?? `The package ${name}.`),
    int32Tag(1006, [built]),
    stringTag(1007, 'build.example.test'),
    int32Tag(1009, [files.reduce((sum, file) => sum + file.content.length, 0)]),
    ...text(1011, spec.vendor),
    stringTag(1014, spec.license ?? 'MIT'),
    ...text(1015, spec.packager),
    i18nTag(1016, spec.group ?? 'Unspecified'),
    ...text(1020, spec.url),
    stringTag(1021, 'linux'),
    stringTag(1022, arch),
    ...Object.entries(spec.scripts ?? {}).flatMap(([kind, body]) => {
      const [script, program] = SCRIPTS[kind as RpmScript]
      return [stringTag(script, body), stringTag(program, '/bin/sh')]
    }),
    ...(sourcerpm === '' ? [int32Tag(1106, [1])] : [stringTag(1044, sourcerpm)]),
    stringTag(1064, '4.18.0'),
    ...allDependencies(spec, evr),
    ...changelogTags(spec.changelog),
    ...fileTags(files, built, { large: large === true, isSource: spec.sourcerpm === '' }),
    stringTag(1124, 'cpio'),
    stringTag(1125, COMPRESSOR[compression]),
    stringTag(1126, '9'),
    stringTag(1132, `${arch}-linux`),
    stringTag(5062, 'utf-8'),
    stringsTag(5092, [createHash('sha256').update(payload).digest('hex')]),
    int32Tag(5093, [8]),
    ...text(5096, spec.modularity),
    stringsTag(5097, [createHash('sha256').update(cpio).digest('hex')]),
  ]
  const contents = files.map(file => (hasDigest(file) ? file.content : undefined))
  return {
    lead: rpmLead(`${name}-${version}-${release}`, sourcerpm === ''),
    tags,
    payload,
    payloadBytes: cpio.length,
    contents,
  }
}

const digest = (algorithm: string, ...parts: readonly Buffer[]): ReturnType<typeof createHash> =>
  parts.reduce((hash, part) => hash.update(part), createHash(algorithm))
const padded = (header: Buffer): Buffer => Buffer.concat([header, Buffer.alloc((8 - (header.length % 8)) % 8)])

/** The signature header over these bytes, with its padding. `extra` takes the place of a tag of the same number. */
export function signatureHeader(
  header: Buffer,
  payload: Buffer,
  payloadBytes: number,
  extra: readonly RpmTag[] = [],
): Buffer {
  const tags = [
    stringTag(269, digest('sha1', header).digest('hex')),
    stringTag(273, digest('sha256', header).digest('hex')),
    int32Tag(1000, [header.length + payload.length]),
    binTag(1004, digest('md5', header, payload).digest()),
    int32Tag(1007, [payloadBytes]),
  ].filter(({ tag }) => !extra.some(other => other.tag === tag))
  return padded(encodeHeader([...tags, ...extra], 62))
}

export function packRpm({ lead, tags, payload, payloadBytes }: RpmParts): Buffer {
  const header = encodeHeader(tags, 63)
  return Buffer.concat([lead, signatureHeader(header, payload, payloadBytes), header, payload])
}

/** As rpm 3 wrote them until 2000: no regions, whole file names, MD5 of each file, and one of header and payload. */
export function packRpm3({ lead, tags, payload, payloadBytes, contents }: RpmParts, paths: readonly string[]): Buffer {
  const newer = [1035, 1116, 1117, 1118, 5011, 5062, 5092, 5093, 5097]
  const digests = stringsTag(
    1035,
    contents.map(content => (content === undefined ? '' : digest('md5', content).digest('hex'))),
  )
  const header = encodeHeader([...tags.filter(({ tag }) => !newer.includes(tag)), digests, stringsTag(1027, paths)])
  const signature = encodeHeader([
    int32Tag(1000, [header.length + payload.length]),
    binTag(1004, digest('md5', header, payload).digest()),
    int32Tag(1007, [payloadBytes]),
  ])
  return Buffer.concat([lead, padded(signature), header, payload])
}

/**
 * As rpm 6 writes them: no MD5 and no SHA-1, sizes of 64 bits, several digests. @param cpio the payload of the form for
 * large files, unpacked
 */
export function packRpm6({ lead, tags, payload }: RpmParts, cpio: Buffer, signatures: readonly RpmTag[] = []): Buffer {
  const lead4 = Buffer.from(lead)
  lead4[4] = 4
  const header = encodeHeader(
    [
      ...tags,
      int64Tag(5112, [payload.length]),
      int64Tag(5113, [cpio.length]),
      int32Tag(5114, [6]),
      ...[
        [5121, 'sha512'],
        [5123, 'sha3-256'],
      ].flatMap(([tag, name]) => [
        stringTag(Number(tag), digest(String(name), payload).digest('hex')),
        stringTag(Number(tag) + 1, digest(String(name), cpio).digest('hex')),
      ]),
    ],
    63,
  )
  const signature = encodeHeader(
    [
      stringTag(273, digest('sha256', header).digest('hex')),
      stringTag(279, digest('sha3-256', header).digest('hex')),
      binTag(999, Buffer.alloc(32)),
      ...signatures,
    ],
    62,
  )
  return Buffer.concat([lead4, padded(signature), header, payload])
}

/** A valid v4 .rpm, made in memory without rpmbuild: rpm, dnf and createrepo_c take it. Same input, same bytes. */
export async function buildRpm(spec: RpmSpec): Promise<Buffer> {
  return packRpm(await rpmParts(spec))
}
