import { Type } from '@sinclair/typebox'
import { printAlternatives } from '../core/relation.ts'
import { OrNull, Text, Time } from '../core/schemas.ts'
import type { IndexedManifest } from './queries/search.ts'
import { FindingSchema, StepSchema } from './schemas.ts'
import { factsOf, VERSION_FACTS, type VersionFacts } from './version-facts.ts'
import { findingView, stepView, type StepView } from './view.ts'

/** The manifest of one version in the words of existing clients. */
export interface Snapshot extends VersionFacts {
  readonly name: string
  readonly version: string
  readonly section: string
  readonly description: string
  readonly maintainer: string
  readonly installed_size_kb: number | null
  readonly file_size_bytes: number
  readonly type: string
  readonly source: {
    readonly imported_by: string
    readonly imported_at: string
    readonly import_method: string
    readonly import_group: string | null
  }
  readonly integrity: { readonly sha256: string; readonly sha512: string; readonly gpg_signed: boolean }
  readonly tags: readonly string[]
  readonly dependencies: readonly string[]
  readonly validation_steps: readonly StepView[]
  readonly cve_results: readonly ReturnType<typeof findingView>[]
}

export const SnapshotSchema = Type.Object({
  name: Text,
  version: Text,
  ...VERSION_FACTS,
  section: Text,
  description: Text,
  maintainer: Text,
  installed_size_kb: OrNull(Type.Integer()),
  file_size_bytes: Type.Integer(),
  type: Text,
  source: Type.Object({ imported_by: Text, imported_at: Time, import_method: Text, import_group: OrNull(Text) }),
  integrity: Type.Object({ sha256: Text, sha512: Text, gpg_signed: Type.Boolean() }),
  tags: Type.Array(Text),
  dependencies: Type.Array(Text),
  validation_steps: Type.Array(StepSchema),
  cve_results: Type.Array(FindingSchema),
})

/** @param tags  the mutable names of this version */
export function snapshotOf(manifest: IndexedManifest, tags: readonly string[] = []): Snapshot {
  const { ref, about, files, reports } = manifest
  const [{ blob, signed }] = files
  const isSigned =
    signed !== undefined || reports.some(({ step, verdict }) => step === 'signature' && verdict === 'signed')
  return {
    name: ref.name,
    version: ref.version,
    ...factsOf(manifest),
    section: about.section ?? '',
    description: about.description,
    maintainer: about.maintainer ?? '',
    installed_size_kb: about.installed_size === undefined ? null : Math.ceil(about.installed_size / 1024),
    file_size_bytes: blob.size,
    type: ref.format,
    source: {
      imported_by: manifest.by,
      imported_at: manifest.at,
      import_method: manifest.imported?.method ?? manifest.from,
      import_group: manifest.imported?.group ?? null,
    },
    integrity: { sha256: blob.sha256, sha512: blob.sha512, gpg_signed: isSigned },
    tags,
    dependencies: about.depends.map(printAlternatives),
    validation_steps: reports.map(stepView),
    cve_results: manifest.findings.map(findingView),
  }
}
