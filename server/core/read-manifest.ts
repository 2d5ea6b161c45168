import type { Blob } from './identity.ts'
import { STATES, type Manifest, type PackageFile, type PackageSignature } from './manifest.ts'

/** The first schema: one file in one distribution. Written until December 2026. */
type Manifest1 = Omit<Manifest, 'schema' | 'component' | 'files' | 'paths'> & {
  readonly schema: 1
  readonly blob: Blob
  readonly signed?: PackageSignature
  readonly filename: string
  /** What `paths` is now. */
  readonly files: readonly string[]
}

function upgrade({ schema: _, blob, signed, filename, files, ...rest }: Manifest1): Manifest {
  const file: PackageFile = { path: filename, blob, ...(signed === undefined ? {} : { signed }) }
  return { schema: 2, ...rest, files: [file], paths: files }
}

const isFile = (
  value: { readonly path?: unknown; readonly blob?: { readonly sha256: unknown } | undefined } | null,
): boolean => typeof value?.path === 'string' && typeof value.blob?.sha256 === 'string'

function isWhole(value: Partial<Manifest | Manifest1>): boolean {
  const files: readonly unknown[] = value.files ?? []
  return (
    typeof value.ref?.name === 'string' &&
    STATES.some(state => state === value.state) &&
    [value.at, value.changed_at].every(at => !Number.isNaN(Date.parse(at ?? ''))) &&
    Array.isArray(value.reports) &&
    Array.isArray(value.files) &&
    value.about !== undefined &&
    (value.schema === 1
      ? isFile({ path: value.filename, blob: value.blob })
      : Array.isArray((value as Partial<Manifest>).paths) &&
        files.length > 0 &&
        files.every(file => isFile(file as PackageFile)))
  )
}

/**
 * Reads a manifest from its JSON; schema 1 is converted to schema 2.
 * @throws Error with the reason when it is neither
 */
export function readManifest(json: unknown): Manifest {
  const value = json as Partial<Manifest | Manifest1> | null
  const schema: unknown = value?.schema
  if (typeof schema === 'number' && schema > 2)
    throw new Error(
      `it has schema ${schema} and this release reads 1 and 2: use the release that wrote it, or a later one`,
    )
  if ((value?.schema !== 1 && value?.schema !== 2) || !isWhole(value))
    throw new Error('it is not a manifest of schema 1 or 2')
  return value.schema === 1 ? upgrade(value as Manifest1) : (value as Manifest)
}
