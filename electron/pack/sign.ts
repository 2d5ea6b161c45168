import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { constants, copyFile, lstat, mkdir, open, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Value } from '@sinclair/typebox/value'
import semver from 'semver'
import { readOffer, ReleaseManifest } from '../core/releases.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PLATFORM = /^(linux|win32|darwin)-(x64|arm64)$/

/** What is said to who signs: what, which rule, the way out. Nothing of a key is ever in it. */
export class SignRefused extends Error {}

/**
 * The vendor's private key, Ed25519 in PEM, from a file that nobody else may read.
 * @throws SignRefused
 */
export async function readPrivateKey(path: string): Promise<KeyObject> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isFile() !== true)
    throw new SignRefused(`${path} is no plain file. Name the file with the private key itself, not a link to it.`)
  if (process.platform !== 'win32' && ((found.mode & 0o077) !== 0 || found.uid !== process.getuid?.()))
    throw new SignRefused(
      `${path} may be read by others than you. A private key is yours alone: chown it to yourself, and chmod 600 ${path}.`,
    )
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const key = createPrivateKey(await file.readFile('utf8'))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    /* said below: the reason could quote the file */
  } finally {
    await file.close()
  }
  throw new SignRefused(
    `${path} holds no Ed25519 private key in PEM without a passphrase. Make one with npm run desktop:sign -- --new-key FILE.`,
  )
}

/**
 * The public part of the vendor's key as a build is given it, PEM; undefined where it is given none.
 * @throws SignRefused where it is no such key: what is built would take no update at all
 */
export function readReleaseKey(given: string | undefined): string | undefined {
  if (given === undefined || given === '') return undefined
  try {
    // createPublicKey would take the private one, too, and that must never be built in
    if (!given.includes('PRIVATE') && createPublicKey(given).asymmetricKeyType === 'ed25519') return given
  } catch {
    /* said below: the reason could quote it */
  }
  throw new SignRefused(
    'GATEHOUSE_RELEASE_KEY is no public Ed25519 key in PEM. Give the text of the .pub file, not its path: GATEHOUSE_RELEASE_KEY="$(cat FILE.pub)".',
  )
}

const publicOf = (key: KeyObject): string => createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()

/** Makes a key in a file that only you may read, and its public part beside it. @returns the public part, PEM */
export async function makeKey(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = publicOf(privateKey)
  try {
    await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new SignRefused(`${path} is there already, and a key is never written over. Name another file.`)
  }
  await writeFile(`${path}.pub`, pem)
  return pem
}

/** What is signed. */
export interface Release {
  readonly version: string
  readonly notes: string
  readonly releasedAt: Date
  readonly files: readonly { readonly platform: string; readonly path: string }[]
}

async function describeFile({ platform, path }: Release['files'][number]): Promise<ReleaseManifest['files'][number]> {
  if (!PLATFORM.test(platform))
    throw new SignRefused(`${platform} is no platform. There are linux, win32 and darwin, each with -x64 or -arm64.`)
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile() !== true || found.size === 0)
    throw new SignRefused(`${path} is no file with something in it. Name a package that npm run desktop:build made.`)
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) hash.update(piece)
  return { platform, name: basename(path), size: found.size, sha256: hash.digest('hex') }
}

async function manifestOf({ version, notes, releasedAt, files }: Release): Promise<ReleaseManifest> {
  if (semver.valid(version) !== version)
    throw new SignRefused(`${version} is no version. Write it as 1.5.0, or as 1.5.0-rc.1.`)
  const described = await Promise.all(files.map(describeFile))
  for (const what of ['platform', 'name'] as const)
    if (new Set(described.map(one => one[what])).size !== described.length)
      throw new SignRefused(`Two files have the same ${what}. A version has one file for each platform.`)
  const manifest = {
    product: 'gatehouse-desktop' as const,
    version,
    released_at: releasedAt.toISOString(),
    notes,
    files: described,
  }
  const wrong = Value.Errors(ReleaseManifest, manifest).First()
  if (wrong !== undefined)
    throw new SignRefused(
      `The program would not read ${wrong.path.slice(1).replaceAll('/', ' ')}: ${wrong.message}. Names of files have letters, digits and _ . + - only.`,
    )
  return manifest
}

/**
 * Writes a signed version into a folder, as an appliance has it in `console/releases`: the files, `VERSION.json.sig`,
 * and `VERSION.json` last, so that none is offered before it is whole.
 * @param builtIn  the key that programs were built with, PEM; another one would sign for nobody
 * @throws SignRefused before anything is written
 */
export async function signRelease(release: Release, key: KeyObject, out: string, builtIn?: string): Promise<string[]> {
  const own = publicOf(key)
  if (builtIn !== undefined && createPublicKey(builtIn).export({ type: 'spki', format: 'pem' }).toString() !== own)
    throw new SignRefused(
      'GATEHOUSE_RELEASE_KEY is the public part of another key, so no program built with it would take this version. Sign with its private key.',
    )
  const manifest = `${JSON.stringify(await manifestOf(release), null, 2)}\n`
  const signature = sign(null, Buffer.from(manifest), key).toString('base64')
  if (readOffer({ releases: [{ manifest, signature }] }, own).length !== 1)
    throw new SignRefused('The program would not take this version. Nothing was written.')
  await mkdir(out, { recursive: true })
  const at = (name: string): string => join(out, name)
  const name = `${release.version}.json`
  await rm(at(name), { force: true })
  for (const { path } of release.files) await copyFile(path, at(basename(path)))
  await writeFile(at(`${name}.sig`), `${signature}\n`)
  await writeFile(at(name), manifest)
  return [...release.files.map(({ path }) => basename(path)), `${name}.sig`, name]
}

const USAGE = `npm run desktop:sign -- --key FILE [--out FOLDER] [--notes TEXT] [--version 1.5.0] PLATFORM=PACKAGE...
npm run desktop:sign -- --new-key FILE

  PLATFORM  linux-x64, linux-arm64, win32-x64, win32-arm64, darwin-x64 or darwin-arm64
  --out     dist/desktop/release, unless named; its files belong into console/releases below REPOS_ROOT
`

async function run(argv: string[]): Promise<number> {
  let read
  try {
    const option = { type: 'string' } as const
    const options = { 'key': option, 'new-key': option, 'out': option, 'notes': option, 'version': option }
    read = parseArgs({ args: argv, options, allowPositionals: true })
  } catch {
    read = undefined
  }
  const { 'new-key': newKey, key, notes = '', ...values } = read?.values ?? {}
  const files = (read?.positionals ?? []).map(word => {
    const [, platform = '', path = ''] = /^([^=]*)=(.+)$/s.exec(word) ?? []
    return { platform, path }
  })
  if (newKey !== undefined) {
    console.log(`The key is in ${newKey}: keep it secret, and keep a copy. Build programs with GATEHOUSE_RELEASE_KEY:`)
    console.log(await makeKey(newKey))
    return 0
  }
  if (key === undefined || files.length === 0 || files.some(({ path }) => path === '')) {
    process.stderr.write(USAGE)
    return 2
  }
  const { version: own } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const { out = join(ROOT, 'dist', 'desktop', 'release'), version = own } = values
  const release = { version, notes, releasedAt: new Date(), files }
  const written = await signRelease(release, await readPrivateKey(key), out, process.env.GATEHOUSE_RELEASE_KEY)
  console.log(`Version ${version} is signed, in ${out}:`)
  for (const name of written) console.log(`  ${name}`)
  return 0
}

/** Runs a command of the builder. What is refused is a sentence; @returns its exit code */
export async function orRefused(command: Promise<number>): Promise<number> {
  try {
    return await command
  } catch (error) {
    if (!(error instanceof SignRefused)) throw error
    console.error(error.message)
    return 1
  }
}

if (import.meta.main) process.exitCode = await orRefused(run(process.argv.slice(2)))
