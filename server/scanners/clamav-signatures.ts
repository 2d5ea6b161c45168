import { open, readdir, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'

/** One file of signatures, by its header or its time on disk. */
export interface SignatureFile {
  readonly file: string
  /** Null for files without a header of their own: hashes and patterns that an admin added. */
  readonly version: string | null
  readonly signatures: number | null
  /** ISO 8601. */
  readonly built_at: string
}

const CONTAINERS = new Set(['.cvd', '.cld', '.cud'])
// file types that clamd also loads. Source: https://docs.clamav.net/manual/Signatures.html
const PLAIN = new Set([
  '.hdb',
  '.hsb',
  '.hdu',
  '.hsu',
  '.mdb',
  '.msb',
  '.ndb',
  '.ndu',
  '.ldb',
  '.ldu',
  '.idb',
  '.cdb',
  '.fp',
  '.sfp',
  '.ign2',
  '.yar',
  '.yara',
  '.pdb',
  '.gdb',
  '.wdb',
  '.crb',
  '.cat',
  '.cbc',
  '.ftm',
  '.db',
])
const HEADER = 512

/**
 * `ClamAV-VDB:16 Nov 2026 08-25 +0000:27777:2076543:90:<md5>:<signature>:<builder>:1763280300`, padded to 512 bytes.
 */
export function readHeader(text: string): Pick<SignatureFile, 'version' | 'signatures' | 'built_at'> | undefined {
  const [magic, built = '', version = '', signatures = '', ...rest] = text.trimEnd().split(':')
  if (magic !== 'ClamAV-VDB' || !/^\d{1,9}$/.test(version)) return undefined
  const seconds = rest.at(-1) ?? ''
  const at = /^\d{9,10}$/.test(seconds) ? Number(seconds) * 1000 : Date.parse(built.replace(/(\d\d)-(\d\d)/, '$1:$2'))
  if (Number.isNaN(at)) return undefined
  return {
    version,
    signatures: /^\d{1,9}$/.test(signatures) ? Number(signatures) : null,
    built_at: new Date(at).toISOString(),
  }
}

async function headOf(path: string): Promise<string> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER), 0, HEADER, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

async function fileOf(folder: string, file: string): Promise<SignatureFile | undefined> {
  const path = join(folder, file)
  try {
    const header = CONTAINERS.has(extname(file)) ? readHeader(await headOf(path)) : undefined
    return {
      file,
      ...(header ?? { version: null, signatures: null, built_at: (await stat(path)).mtime.toISOString() }),
    }
  } catch {
    return undefined // replaced or unreadable at this moment: the others still count
  }
}

/** All files in the folder that clamd would load, the newest first; none where the folder does not exist. */
export async function listSignatures(folder: string): Promise<readonly SignatureFile[]> {
  const names = await readdir(folder).catch((): string[] => [])
  const files = await Promise.all(
    names.filter(name => CONTAINERS.has(extname(name)) || PLAIN.has(extname(name))).map(name => fileOf(folder, name)),
  )
  return files.filter(file => file !== undefined).sort((a, b) => (a.built_at < b.built_at ? 1 : -1))
}

/** Whether the folder can be read and has nothing that clamd would load. */
export async function isWithoutSignatures(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => undefined)
  return names?.every(name => !CONTAINERS.has(extname(name)) && !PLAIN.has(extname(name))) ?? false
}

/**
 * The age of the signatures where clamd does not say it: it names only the version of `daily`, and only while that is
 * loaded.
 */
export async function newestSignatures(
  folder: string,
): Promise<{ readonly version?: string; readonly at: string } | undefined> {
  const [newest] = await listSignatures(folder)
  return newest && { at: newest.built_at, ...(newest.version === null ? {} : { version: newest.version }) }
}
