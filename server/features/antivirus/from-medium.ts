import { mkdtemp, mkdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fail } from '../../core/errors.ts'
import { copyFromMedium, findOnMedium, readMedia } from '../../machine/media.ts'
import { listSignatures, type SignatureFile } from '../../scanners/clamav-signatures.ts'
import type { Updated } from './freshclam.ts'
import type { Signatures } from './signatures.ts'

export interface FromMediumDeps {
  readonly mediaFolder: string | undefined
  readonly signatures: Pick<Signatures, 'files' | 'load'>
  /** Where copies lie meanwhile. */
  readonly folder: string
}

export interface FromMedium {
  /** Undefined where nothing was newer. */
  readonly updated: Updated | undefined
  /** What was left out, and why. */
  readonly left: readonly string[]
  /** The label of the stick. */
  readonly label: string
}

const older = (came: SignatureFile, here: SignatureFile): string =>
  `${came.file} on the stick is of ${came.built_at.slice(0, 10)}, and the one here of ${here.built_at.slice(0, 10)}.`

/**
 * Takes signatures from a stick: all that were found on it, or one file. Older ones than those here are left out.
 * freshclam tests what is taken before it is put in place.
 * @throws medium_not_found, medium_file_not_found, medium_unreadable, medium_forbidden, signatures_not_updated,
 *   engine_unavailable, storage_full
 */
export async function takeFromMedium(
  { mediaFolder, signatures, folder }: FromMediumDeps,
  { medium, path }: { readonly medium: string; readonly path?: string },
  signal: AbortSignal,
): Promise<FromMedium> {
  const view = (await readMedia(mediaFolder)).find(({ id }) => id === medium) ?? fail('medium_not_found', { medium })
  const found = view.files.filter(one => one.kind === 'signatures' && (path ?? one.path) === one.path)
  if (found.length === 0) fail('medium_file_not_found', { path: path ?? '*.cvd', medium: view.label })
  await mkdir(folder, { recursive: true })
  const scratch = await mkdtemp(join(folder, 'medium-'))
  try {
    const here = new Map((await signatures.files()).map(one => [one.file, one]))
    for (const one of found)
      await copyFromMedium(
        await findOnMedium(mediaFolder, { medium, path: one.path }),
        join(scratch, basename(one.path)),
        signal,
      )
    const left: string[] = []
    for (const came of await listSignatures(scratch)) {
      const known = here.get(came.file)
      if (known === undefined || came.built_at > known.built_at) continue
      if (came.built_at < known.built_at) left.push(older(came, known))
      await rm(join(scratch, came.file))
    }
    const isNews = (await listSignatures(scratch)).length > 0
    return { updated: isNews ? await signatures.load(scratch) : undefined, left, label: view.label }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
