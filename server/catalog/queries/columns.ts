import type { Manifest } from '../../core/manifest.ts'
import { getFormat } from '../../formats/index.ts'
import { reviewRow, REVIEW_TYPES } from './review-index.ts'

/** The columns of `package` that follow from a manifest, with their types. */
const TYPES = {
  format: 'text',
  codename: 'text',
  name: 'text',
  version: 'text',
  arch: 'text',
  sort_key: 'text',
  sha256: 'text',
  size: 'bigint',
  summary: 'text',
  state: 'text',
  worst: 'text',
  findings: 'int',
  warned: 'boolean',
  uploaded_by: 'text',
  origin: 'text',
  created_at: 'timestamptz',
  changed_at: 'timestamptz',
  manifest: 'jsonb',
  facts: 'jsonb',
  paths: 'text',
  component: 'text',
  kind: 'text',
  source: 'text',
  source_version: 'text',
  mark: 'jsonb',
  ...REVIEW_TYPES,
} as const

export const PACKAGE_COLUMNS = Object.keys(TYPES).join(', ')

/** Reads rows of `package` from the parameter `$1`, which is the JSON text of an array of `rowOf`. */
export const PACKAGE_ROWS = `json_to_recordset($1::json) as given (${Object.entries(TYPES)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ')})`

/** The row of a manifest. Identities stay: an update may set all of it. */
export function rowOf(manifest: Manifest): Readonly<Record<keyof typeof TYPES, unknown>> {
  const { facts, paths, ...rest } = manifest
  const { format, codename, name, version, arch } = manifest.ref
  return {
    ...{ format, codename, name, version, arch },
    sort_key: getFormat(format).versionKey(version),
    sha256: manifest.files[0].blob.sha256,
    size: manifest.files[0].blob.size,
    summary: manifest.about.summary,
    state: manifest.state,
    worst: manifest.worst ?? null,
    findings: manifest.findings.length,
    warned: manifest.reports.some(({ outcome }) => outcome === 'warned' || outcome === 'unavailable'),
    uploaded_by: manifest.by,
    origin: manifest.from,
    created_at: manifest.at,
    changed_at: manifest.changed_at,
    manifest: rest,
    facts,
    paths: paths.join('\n'),
    component: manifest.component ?? null,
    kind: manifest.kind ?? 'binary',
    source: manifest.about.source,
    source_version: manifest.about.source_version,
    mark: getFormat(format).marking?.read(facts) ?? null,
    ...reviewRow(manifest),
  }
}
