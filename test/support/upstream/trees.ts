import { createHash, createSign } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { apkParts, cutTar, gz, packApk, type ApkSpec } from '../packages-apk.ts'
import { buildRpm, type RpmSpec } from '../packages-rpm.ts'
import { buildDeb, compress, controlText, tar, type DebSpec } from '../packages.ts'
import { mustRun } from '../tools.ts'
import type { ApkKey, VendorKey } from './key.ts'

const hex = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

async function put(folder: string, path: string, bytes: Buffer | string): Promise<void> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, bytes)
}

export interface AptTreeOptions {
  /** Who signs; without one nobody does. */
  readonly key?: VendorKey
  /** `Date`; now by default. */
  readonly date?: Date
  /** `Valid-Until`, in days from the date. Default: none. */
  readonly validDays?: number
  readonly suite?: string
  readonly codename?: string
  readonly origin?: string
  readonly component?: string
  readonly archs?: readonly string[]
  /** How it is signed. */
  readonly sign?: 'inline' | 'detached' | 'none'
  /** How indexes are packed; as Debian does by default. */
  readonly packed?: readonly ('xz' | 'gz')[]
  /** More lines of Release. */
  readonly fields?: Readonly<Record<string, string>>
}

/**
 * Writes an APT repository in code. Again with a later date and other packages is its next state: indexes by hash of
 * the one before stay.
 */
export async function writeAptTree(
  folder: string,
  packages: readonly DebSpec[],
  options: AptTreeOptions = {},
): Promise<void> {
  const { date = new Date(), suite = 'bookworm', component = 'main', archs = ['amd64'] } = options
  const stanzas = new Map(archs.map(arch => [arch, '']))
  for (const spec of packages) {
    const bytes = await buildDeb(spec)
    const { name, version, arch = 'amd64' } = spec
    const path = `pool/${component}/${name}/${name}_${version.replace(/^\d+:/, '')}_${arch}.deb`
    await put(folder, path, bytes)
    const stanza = `${controlText(spec).trimEnd()}\nFilename: ${path}\nSize: ${bytes.length}\nSHA256: ${hex('sha256', bytes)}\n\n`
    for (const one of archs) if (arch === one || arch === 'all') stanzas.set(one, (stanzas.get(one) ?? '') + stanza)
  }
  const lines: string[] = []
  const note = (path: string, bytes: Buffer): unknown => lines.push(` ${hex('sha256', bytes)} ${bytes.length} ${path}`)
  for (const [arch, text] of stanzas) {
    const plain = Buffer.from(text)
    // listed and not served, as Debian does
    note(`${component}/binary-${arch}/Packages`, plain)
    for (const how of options.packed ?? ['xz', 'gz']) {
      const bytes = await compress(plain, how)
      const path = `${component}/binary-${arch}/Packages.${how}`
      note(path, bytes)
      await put(folder, `dists/${suite}/${path}`, bytes)
      await put(folder, `dists/${suite}/${component}/binary-${arch}/by-hash/SHA256/${hex('sha256', bytes)}`, bytes)
    }
  }
  await writeRelease(folder, lines, { ...options, date, suite, component, archs })
}

async function writeRelease(
  folder: string,
  lines: readonly string[],
  options: AptTreeOptions & Required<Pick<AptTreeOptions, 'date' | 'suite' | 'component' | 'archs'>>,
): Promise<void> {
  const { key, date, suite, codename = suite, origin = 'Vendor', validDays, sign = 'inline' } = options
  const until = validDays === undefined ? undefined : new Date(date.getTime() + validDays * 86_400_000)
  const fields = {
    'Origin': origin,
    'Label': origin,
    'Suite': suite,
    'Codename': codename,
    'Date': date.toUTCString(),
    ...(until === undefined ? {} : { 'Valid-Until': until.toUTCString() }),
    'Acquire-By-Hash': 'yes',
    'No-Support-for-Architecture-all': 'Packages',
    'Architectures': options.archs.join(' '),
    'Components': options.component,
    ...options.fields,
  }
  const text = `${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')}SHA256:\n${lines.join('\n')}\n`
  const at = (name: string): string => `dists/${suite}/${name}`
  for (const name of ['InRelease', 'Release', 'Release.gpg']) await rm(join(folder, at(name)), { force: true })
  if (key !== undefined && sign === 'inline') return put(folder, at('InRelease'), await key.clearsign(text, date))
  await put(folder, at('Release'), text)
  if (key !== undefined && sign === 'detached')
    await put(folder, at('Release.gpg'), await key.detach(Buffer.from(text), date))
}

/**
 * Writes an RPM repository with createrepo_c; the folder is what a baseurl names. Without a key its root is unsigned.
 */
export async function writeRpmRepository(
  folder: string,
  packages: readonly (RpmSpec | { readonly name: string; readonly bytes: Buffer })[],
  {
    key,
    date = new Date(),
    revision,
  }: { readonly key?: VendorKey; readonly date?: Date; readonly revision?: number } = {},
): Promise<void> {
  for (const one of packages) {
    const bytes = 'bytes' in one ? one.bytes : await buildRpm(one)
    const name = 'bytes' in one ? one.name : `${one.name}-${one.version}-${one.release}.${one.arch ?? 'x86_64'}`
    await put(folder, `Packages/${name}.rpm`, bytes)
  }
  const seconds = revision ?? Math.floor(date.getTime() / 1000)
  await mustRun('createrepo_c', [
    '--quiet',
    '--revision',
    String(seconds),
    '--set-timestamp-to-revision',
    '--general-compress-type=gz',
    folder,
  ])
  await rm(join(folder, 'repodata/repomd.xml.asc'), { force: true })
  if (key === undefined) return
  const repomd = await readFile(join(folder, 'repodata/repomd.xml'))
  await put(folder, 'repodata/repomd.xml.asc', await key.detach(repomd, date))
}

/** Writes an APK repository in code; `<arch>/APKINDEX.tar.gz` lies below the folder. Without a key it is unsigned. */
export async function writeApkRepository(
  folder: string,
  packages: readonly ApkSpec[],
  { key, arch = 'x86_64' }: { readonly key?: ApkKey; readonly arch?: string } = {},
): Promise<void> {
  let index = ''
  for (const spec of packages) {
    const parts = apkParts(spec)
    const bytes = packApk(parts, key === undefined ? undefined : { ...key })
    await put(folder, `${arch}/${spec.name}-${spec.version}.apk`, bytes)
    const checksum = createHash('sha1').update(gz(parts.control)).digest('base64')
    const { depend, provides } = spec.fields ?? {}
    const list = (value: string | readonly string[] | undefined): string => [value ?? []].flat().join(' ')
    index += [
      `C:Q1${checksum}`,
      `P:${spec.name}`,
      `V:${spec.version}`,
      `A:${spec.arch ?? arch}`,
      `S:${bytes.length}`,
      'I:4096',
      `T:package ${spec.name}`,
      'U:https://example.test/',
      'L:MIT',
      `o:${spec.name}`,
      ...(depend === undefined ? [] : [`D:${list(depend)}`]),
      ...(provides === undefined ? [] : [`p:${list(provides)}`]),
      '\n',
    ].join('\n')
  }
  const data = gzipSync(
    tar([
      { name: 'DESCRIPTION', body: 'v1' },
      { name: 'APKINDEX', body: index },
    ]),
  )
  const signed =
    key === undefined
      ? []
      : [gz(cutTar([{ name: `.SIGN.RSA.${key.keyName}`, body: createSign('sha1').update(data).sign(key.privateKey) }]))]
  await put(folder, `${arch}/APKINDEX.tar.gz`, Buffer.concat([...signed, data]))
}
