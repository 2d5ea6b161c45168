import type { FormatId } from '../../core/identity.ts'

/** What a path was. */
export interface NamedFile {
  readonly path: string
  readonly format: FormatId
  /** Undefined where it belongs to no distribution alone. */
  readonly codename: string | undefined
  readonly name: string
  readonly version: string
  readonly arch: string
  /** Read beside a package, and no download by itself. */
  readonly isBeside?: boolean
}

/** The segments of a path, decoded; as they are where one of them cannot be. */
export function decoded(path: string): string[] {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return path.split('/')
  }
}
