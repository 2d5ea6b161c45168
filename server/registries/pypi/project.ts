import type { FileRow } from '../../catalog/queries/registry-files.ts'
import type { PypiFacts } from '../../formats/pypi/facts.ts'
import { whyHeld } from '../held.ts'
import { PROVENANCE } from './attestations.ts'
import type { SimpleFile } from './simple.ts'

/** What the pages of a project say of each file. */
export const SHOWN_FACTS = ['filetype', 'requires_python', 'metadata', 'yanked'] as const
export type ShownFacts = Pick<PypiFacts, (typeof SHOWN_FACTS)[number]>

/** A file of a project as its pages show it. */
export interface ProjectFile {
  readonly filename: string
  readonly sha256: string
  readonly md5: string
  readonly size: number
  readonly facts: ShownFacts
  /** Normalised. */
  readonly version: string
  readonly arch: string
  /** When clients could get it here for the first time. */
  readonly publishedAt: string
  /** Why clients should not take it by themselves: its maintainers say so, or it is held. */
  readonly yanked: string | undefined
  /** Whether its bytes are not given out. */
  readonly isHeld: boolean
  readonly hasProvenance: boolean
}

/** A file as the simple pages show it. */
export const simpleFileOf = ({ facts, ...file }: ProjectFile): SimpleFile => ({
  ...file,
  requiresPython: facts.requires_python,
  metadata: facts.metadata === undefined ? undefined : { sha256: facts.metadata.sha256 },
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
export function publishedAt({
  at,
  review,
  decision,
}: Pick<FileRow<ShownFacts>, 'at'> & Partial<Pick<FileRow<ShownFacts>, 'review' | 'decision'>>): string {
  const approvals = [...(review?.history ?? []), ...(decision ? [decision] : [])].filter(
    one => one.action === 'approve' && one.cve === undefined,
  )
  return approvals.map(one => one.at).sort()[0] ?? at
}

function fileOf(row: FileRow<ShownFacts>, console: string): ProjectFile {
  const { path, sha256, md5, size, facts, version, arch, held, beside } = row
  return {
    filename: path,
    ...{ sha256, md5, size, facts, version, arch },
    publishedAt: publishedAt(row),
    yanked: held === null ? facts.yanked?.reason : whyHeld(held, console).sentence,
    isHeld: held !== null,
    hasProvenance: beside.includes(`${path}${PROVENANCE}`),
  }
}

/**
 * The project of these files, which are those of one name, oldest first.
 * @param console  the address of the console, for the link in what is said of a held file
 */
export const projectOf = (name: string, files: readonly FileRow<ShownFacts>[], console: string): Project => ({
  name,
  files: files.map(row => fileOf(row, console)),
})
