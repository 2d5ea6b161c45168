import { createHash, createPublicKey, verify } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { findProgram, run, type Ran } from './tools.ts'

/**
 * A second reader of Alpine's repositories, written after apk-tools 2.14 and sharing nothing with the server: members,
 * tars, signatures and checksums by its rules. Stands in where there is no `apk`.
 */

/** The gzip members of a file: as they lie there, and unpacked. */
export function splitMembers(bytes: Buffer): { readonly packed: Buffer; readonly plain: Buffer }[] {
  const members = []
  for (let at = 0; at < bytes.length;) {
    let body = at + 10
    if (((bytes[at + 3] ?? 0) & 8) !== 0) body = bytes.indexOf(0, body) + 1
    const answer = inflateRawSync(bytes.subarray(body), { info: true }) as unknown as {
      buffer: Buffer
      engine: { bytesWritten: number }
    }
    const end = body + answer.engine.bytesWritten + 8
    members.push({ packed: bytes.subarray(at, end), plain: answer.buffer })
    at = end
  }
  return members
}

interface File {
  readonly name: string
  readonly type: string
  readonly body: Buffer
}

/** A tar as apk_tar_parse walks it. `ended` is how many blocks it took for the end. */
export function walkTar(tar: Buffer): {
  readonly files: readonly File[]
  readonly ended: number
  readonly problems: readonly string[]
} {
  const files: File[] = []
  const problems: string[] = []
  let [ended, paxPath] = [0, '']
  for (let at = 0; at < tar.length;) {
    const header = tar.subarray(at, at + 512)
    at += 512
    if (header[0] === 0) {
      ended++
      continue
    }
    if (ended > 0) problems.push('something follows the end mark')
    if (header.toString('latin1', 257, 262) !== 'ustar') problems.push('a header is not ustar')
    const text = (from: number, to: number): string => header.toString('utf8', from, to).split('\0')[0] ?? ''
    const size = parseInt(text(124, 136), 8)
    const body = tar.subarray(at, at + size)
    at += Math.ceil(size / 512) * 512
    const type = text(156, 157)
    if (type === 'x') paxPath = /\d+ path=(.*)\n/.exec(body.toString())?.[1] ?? ''
    else {
      files.push({ name: paxPath === '' ? text(0, 100) : paxPath, type, body })
      paxPath = ''
    }
  }
  if (tar.length % 512 !== 0) problems.push('it does not end with a whole block')
  return { files, ended, problems }
}

export interface Signed {
  readonly name: string
  readonly keyName: string
  readonly hash: 'sha1' | 'sha256'
  readonly body: Buffer
}
export type IndexEntry = Readonly<Record<string, string>>
export interface ApkIndex {
  readonly signatures: readonly Signed[]
  readonly signed: Buffer
  readonly description: string
  readonly packages: readonly IndexEntry[]
  readonly problems: readonly string[]
}

const parseEntry = (text: string): IndexEntry =>
  Object.fromEntries(
    text.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  )

/**
 * Reads `APKINDEX.tar.gz` and checks every signature. @param keys  the folder with the clients' keys, or a key by name
 */
export async function readApkIndex(
  archive: Buffer,
  keys: string | ((name: string) => Promise<string>),
): Promise<ApkIndex> {
  const problems: string[] = []
  const [first, second, ...more] = splitMembers(archive)
  if (first === undefined || second === undefined)
    return {
      signatures: [],
      signed: Buffer.alloc(0),
      description: '',
      packages: [],
      problems: ['it has not two members'],
    }
  if (more.length > 0) problems.push('it has more than two members')
  const signing = walkTar(first.plain)
  if (signing.ended > 0) problems.push('the signature member has an end mark: apk would see no index')
  const signatures: Signed[] = []
  for (const { name, body, type } of signing.files) {
    const [, kind, keyName = ''] = /^\.SIGN\.(RSA256|RSA)\.(.+)$/.exec(name) ?? []
    if (kind === undefined || type !== '0') problems.push(`${name} is no signature`)
    const hash = kind === 'RSA256' ? 'sha256' : 'sha1'
    signatures.push({ name, keyName, hash, body })
    const pem = typeof keys === 'string' ? await readFile(join(keys, keyName), 'utf8') : await keys(keyName)
    if (!verify(hash, second.packed, createPublicKey(pem), body)) problems.push(`${name} does not verify`)
  }
  const { files, problems: inTar, ended } = walkTar(second.plain)
  problems.push(...signing.problems, ...inTar)
  if (ended !== 2) problems.push(`the index member ends with ${ended} empty blocks`)
  if (files.map(({ name }) => name).join() !== 'DESCRIPTION,APKINDEX')
    problems.push(`it holds ${files.map(({ name }) => name).join()}`)
  const text = files.find(({ name }) => name === 'APKINDEX')?.body.toString() ?? ''
  if (text !== '' && !text.endsWith('\n\n')) problems.push('the last entry is not ended by an empty line')
  const packages = text
    .split('\n\n')
    .filter(one => one !== '')
    .map(parseEntry)
  for (const one of packages)
    for (const key of ['C', 'P', 'V', 'A', 'S', 'I'])
      if ((one[key] ?? '') === '') problems.push(`${one['P']} has no ${key}:`)
  return {
    signatures,
    signed: second.packed,
    description: files.find(({ name }) => name === 'DESCRIPTION')?.body.toString() ?? '',
    packages,
    problems,
  }
}

/** Checks a package as apk does after fetching it: size, C:, datahash, name and version against the index entry. */
export function checkPackage(bytes: Buffer, entry: IndexEntry): string[] {
  const problems: string[] = []
  const members = splitMembers(bytes)
  const [data, control] = [members.at(-1), members.at(-2)]
  const info =
    control === undefined
      ? ''
      : (walkTar(control.plain)
          .files.find(({ name }) => name === '.PKGINFO')
          ?.body.toString() ?? '')
  const field = (name: string): string => new RegExp(`^${name} = (.*)$`, 'm').exec(info)?.[1] ?? ''
  if (String(bytes.length) !== entry['S']) problems.push(`it has ${bytes.length} bytes, S: says ${entry['S']}`)
  const checksum = `Q1${createHash('sha1')
    .update(control?.packed ?? '')
    .digest('base64')}`
  if (checksum !== entry['C']) problems.push(`its control member has ${checksum}, C: says ${entry['C']}`)
  if (
    createHash('sha256')
      .update(data?.packed ?? '')
      .digest('hex') !== field('datahash')
  )
    problems.push('its data member is not what datahash says')
  if (field('pkgname') !== entry['P'] || field('pkgver') !== entry['V'])
    problems.push(`it is ${field('pkgname')} ${field('pkgver')}`)
  return problems
}

export interface Served {
  readonly arch?: string
  readonly component?: string
  /** Sent with every request, for trees that are private. */
  readonly headers?: Readonly<Record<string, string>>
  /** Fetches an address, where this process is not in its network. @throws where it is not answered with 200 */
  readonly fetched?: (address: string) => Promise<Buffer>
}

/** Everything a client would fetch of one index of a distribution, checked. Needs the service at `url`. */
export async function readServedApks(
  url: string,
  codename: string,
  { arch = 'x86_64', component = 'main', headers = {}, fetched }: Served = {},
): Promise<ApkIndex> {
  const get = async (path: string): Promise<Buffer> => {
    if (fetched !== undefined) return fetched(`${url}/apk/${path}`)
    const answer = await fetch(`${url}/apk/${path}`, { headers })
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`)
    return Buffer.from(await answer.arrayBuffer())
  }
  const index = await readApkIndex(await get(`${codename}/${component}/${arch}/APKINDEX.tar.gz`), async name =>
    (await get(name)).toString(),
  )
  const problems = [...index.problems]
  for (const entry of index.packages) {
    if (entry['A'] !== arch) problems.push(`${entry['P']} is for ${entry['A']}`)
    const file = `${entry['P']}-${entry['V']}.apk`
    const wrong = await get(`${codename}/${component}/${arch}/${file}`).then(
      bytes => checkPackage(bytes, entry),
      (error: unknown) => [String(error)],
    )
    problems.push(...wrong.map(one => `${file}: ${one}`))
  }
  return { ...index, problems }
}

/** The client itself, where there is one. */
export const apkProgram = findProgram('apk') ?? findProgram('apk.static')

/** A root for apk that holds only the trusted keys and some repositories. */
export interface ApkRoot {
  readonly folder: string
  apk(...args: readonly string[]): Promise<Ran>
  close(): Promise<void>
}

/** @param keys  file name → PEM; clients look for the name that the signature gives */
export async function createApkRoot({
  repository,
  keys,
  arch = 'x86_64',
  within = [],
}: {
  /** One a line. */
  readonly repository: string
  readonly keys: Readonly<Record<string, string>>
  readonly arch?: string
  /** Words in front of `apk`, such as `nsenter` into another network. */
  readonly within?: readonly string[]
}): Promise<ApkRoot> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-apk-'))
  await mkdir(join(folder, 'etc/apk/keys'), { recursive: true })
  for (const [name, pem] of Object.entries(keys)) await writeFile(join(folder, 'etc/apk/keys', name), pem)
  await writeFile(join(folder, 'etc/apk/repositories'), `${repository}\n`)
  const [program = 'apk', ...words] = [...within, apkProgram ?? 'apk']
  const apk = (...args: readonly string[]): Promise<Ran> =>
    run(program, [...words, '--root', folder, '--arch', arch, '--no-cache', ...args])
  const made = await apk('--initdb', '--no-network', 'add')
  if (made.code !== 0) throw new Error(`apk could not make a root: ${made.err}${made.out}`)
  return { folder, apk, close: () => rm(folder, { recursive: true, force: true }) }
}
