import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { trustKeys } from '../signing/trusted-keys.ts'
import { BadArchive, type ReadArchive } from './archive-reader.ts'

/**
 * Who signed the manifest. `own`: a key of the installation that restores it. `other`: the key that came with the
 * backup; whoever could change the backup could have put it there. `unknown`: no key is there that could have made the
 * signature. `none`: it was made where there was no signing key.
 */
export interface Signed {
  readonly by: 'own' | 'other' | 'unknown' | 'none'
  /** Upper-case fingerprint; absent for `unknown` and `none`. */
  readonly fingerprint?: string
}

/** The public keys that clients trust; a backup has those of its time. */
export const PUBLIC_KEYS = 'gpg.key'

const blockIn = (folder: string): Promise<string> => readFile(join(folder, PUBLIC_KEYS), 'utf8').catch(() => '')

const DAY_MS = 86_400_000

/** The first of these keys that made the signature. */
async function signerAmong(
  block: string,
  { manifest, manifestBytes, signature }: ReadArchive,
): Promise<string | undefined> {
  // the clock of a machine that was set up today may be behind that of the backup
  const now = new Date(Math.max(Date.now(), Date.parse(manifest.created_at) + DAY_MS))
  const keys = await trustKeys({ openpgp: [block], rsa: new Map(), now: () => now })
  const seen = await keys.detached(manifestBytes, Buffer.from(signature ?? ''))
  return 'by' in seen ? seen.by[0] : undefined
}

/**
 * Checks the signature of a manifest.
 * @param staged  the folder that the backup was read into
 * @param root  of the installation that restores it
 * @throws BadArchive where the backup's own keys did not make it: then the manifest was changed
 */
export async function checkSignature(
  read: ReadArchive,
  { staged, root }: { readonly staged: string; readonly root: string },
): Promise<Signed> {
  if (read.signature === undefined) return { by: 'none' }
  const own = await signerAmong(await blockIn(root), read)
  if (own !== undefined) return { by: 'own', fingerprint: own }
  const block = await blockIn(staged)
  if (block === '') return { by: 'unknown' }
  const other = await signerAmong(block, read)
  if (other !== undefined) return { by: 'other', fingerprint: other }
  throw new BadArchive('The signature of the manifest does not fit it: the backup was changed after it was made.')
}

/** The one sentence about it. */
export function printSigned({ by, fingerprint = '' }: Signed): string {
  return {
    own: `Its manifest is signed with ${fingerprint}, a key of this installation.`,
    other: `Its manifest is signed with ${fingerprint}, the key that came with it. This installation does not know that key.`,
    unknown: 'Its manifest is signed, and the key that would prove it is neither in the backup nor here.',
    none: 'Its manifest is not signed: there was no signing key when it was made.',
  }[by]
}
