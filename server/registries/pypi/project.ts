import type { Sha256 } from '../../core/identity.ts'
import { isServed, type Manifest, type PackageFile } from '../../core/manifest.ts'
import type { PypiFacts } from '../../formats/pypi/facts.ts'
import { whyHeld } from '../held.ts'
import { PROVENANCE } from './attestations.ts'
import type { SimpleFile } from './simple.ts'

/** A file of a project as its pages show it. */
export interface ProjectFile {
  readonly filename: string
  readonly sha256: Sha256
  readonly md5: string
  readonly size: number
  readonly facts: PypiFacts
  /** Normalised. */
  readonly version: string
  /** When clients could get it here for the first time. */
  readonly publishedAt: string
  /** Why clients should not take it by themselves: its maintainers say so, or it is held. */
  readonly yanked: string | undefined
  /** Set where its bytes are not given out. */
  readonly held: Manifest | undefined
  readonly provenance: PackageFile | undefined
}

/** A file as the simple pages show it. */
export const simpleFileOf = ({ facts, provenance, ...file }: ProjectFile): SimpleFile => ({
  ...file,
  requiresPython: facts.requires_python,
  metadata: facts.metadata === undefined ? undefined : { sha256: facts.metadata.sha256 },
  hasProvenance: provenance !== undefined,
})

/** All files of a name. */
export interface Project {
  /** Normalised. */
  readonly name: string
  /** Oldest version first. */
  readonly files: readonly ProjectFile[]
}

/**
 * When a version was published here: at its upload, or when a person let it through. `uv --exclude-newer` goes by this,
 * so a version that was held for a week is a week younger than its upload.
 */
export function publishedAt({ at, review, decision }: Pick<Manifest, 'at' | 'review' | 'decision'>): string {
  const approvals = [...(review?.history ?? []), ...(decision === undefined ? [] : [decision])].filter(
    one => one.action === 'approve' && one.cve === undefined,
  )
  return approvals.map(one => one.at).sort()[0] ?? at
}

/** @param console  the address of the console, for the link in what is said of a held file */
export function fileOf(manifest: Manifest, console: string): ProjectFile {
  const { files, state, ref } = manifest
  const [first] = files
  const facts = manifest.facts as PypiFacts
  const held = isServed(state) ? undefined : manifest
  return {
    filename: first.path,
    sha256: first.blob.sha256,
    md5: first.blob.md5,
    size: first.blob.size,
    facts,
    version: ref.version,
    publishedAt: publishedAt(manifest),
    yanked: held === undefined ? facts.yanked?.reason : whyHeld(held, console).sentence,
    held,
    provenance: files.find(({ path }) => path === `${first.path}${PROVENANCE}`),
  }
}

/** The project of these versions, which are those of one name, oldest first. */
export const projectOf = (name: string, versions: readonly Manifest[], console: string): Project => ({
  name,
  files: versions.map(manifest => fileOf(manifest, console)),
})
