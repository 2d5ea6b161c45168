import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256Of } from '../../lib/digest-file.ts'
import { malformed } from '../../lib/limited.ts'
import { unpackBundle, type UnpackedBundle } from '../read/bundle.ts'
import { readUnpacked, recogniseFeed } from '../read/recognise.ts'
import type { HashedFile, ImportJob } from '../read/run.ts'
import type { Meta } from './generation-meta.ts'

/** A file of a bundle for another engine. */
export interface OtherFile {
  readonly kind: string
  readonly path: string
  readonly name: string
}

interface Prepared {
  readonly files: readonly HashedFile[]
  readonly others: readonly OtherFile[]
  readonly bundle?: UnpackedBundle
  readonly notes: readonly string[]
}

const OTHERS = /^(grype|trivy|clamav)\//

/** Opens a bundle and recognises every file by its content. */
export async function prepare(job: ImportJob, folder: string): Promise<Prepared> {
  const notes: string[] = []
  const files: HashedFile[] = []
  const others: OtherFile[] = []
  let bundle: UnpackedBundle | undefined
  for (const file of job.files) {
    const is = await recogniseFeed(file.path)
    if (is?.kind !== 'bundle') {
      if (job.key !== '')
        malformed(
          'security.bundle_key names the key that data must be signed with, and only a bundle can be signed. Make one with npm run vulndb -- make, or remove the key',
        )
      if (is === undefined) notes.push(`${file.label} is no advisory data that is known here, so it was left out.`)
      else files.push({ ...file, is, sha256: await sha256Of(file.path) })
      continue
    }
    bundle = await unpackBundle(
      readUnpacked(file.path, is.compression),
      join(folder, '.bundle', String(files.length)),
      { key: job.key },
    )
    for (const {
      file: { path: label, sha256: digest, source_date: date },
      path,
    } of bundle.files) {
      const kind = OTHERS.exec(label)?.[1]
      const found = kind === undefined ? await recogniseFeed(path) : undefined
      if (kind !== undefined) others.push({ kind, path, name: label.slice(kind.length + 1) })
      else if (found === undefined || found.kind === 'bundle')
        notes.push(`${label} is no advisory data that is known here, so it was left out.`)
      else files.push({ path, label, sha256: digest, is: found, as_of: date ?? bundle.manifest.created, whole: true })
    }
  }
  return { files, others, notes, ...(bundle === undefined ? {} : { bundle }) }
}

/** True when every file is loaded already and none is newer. */
export function isKnown(before: Meta | undefined, files: readonly HashedFile[]): boolean {
  const loaded = Object.values(before?.sources ?? {})
  return files.every(({ sha256: digest, as_of: asOf }) =>
    loaded.some(source => source.files.includes(digest) && (asOf === undefined || source.as_of >= asOf)),
  )
}

/** Moves files for other engines out of the temporary folder, into `/repos/security/incoming`. */
export async function moveOthers(security: string, others: readonly OtherFile[]): Promise<OtherFile[]> {
  const moved: OtherFile[] = []
  for (const { kind, path, name } of others) {
    const to = join(security, 'incoming', kind, name.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^\.+/, '_'))
    await mkdir(join(security, 'incoming', kind), { recursive: true })
    await rename(path, to)
    moved.push({ kind, path: to, name })
  }
  return moved
}
