import type { DumpHeader } from './dump.ts'

/** One member of an archive. Sizes in bytes, digests SHA-256 in hex. */
export interface Member {
  /** Below the archive's one folder: `pool/ab/cd/…`. */
  readonly path: string
  readonly size: number
  readonly sha256: string
}

/** What a backup says of itself; the first member of an archive, so that it is known without reading all of it. */
export interface About {
  /** `gatehouse_backup_20261123_043000` */
  readonly name: string
  /** ISO 8601: the moment that all of it is of. */
  readonly created_at: string
  /** The release that made it. */
  readonly version: string
  /** Whether `.secrets/` is in it: only in encrypted ones. */
  readonly has_secrets: boolean
  /** Whether functions of the enterprise edition were on; absent in older ones. */
  readonly enterprise?: boolean
  readonly database: DumpHeader
  readonly packages: number
}

/** The last members of an archive: what is in it. */
export interface ArchiveManifest extends About {
  readonly format: 1
  readonly files: readonly Member[]
}

export const ABOUT = 'about.json'
export const MANIFEST = 'manifest.json'
export const SIGNATURE = 'manifest.json.asc'

/** Archives by their names; others are not touched. */
export const ARCHIVE_NAME = /^gatehouse_backup_\d{8}_\d{6}\.tar\.gz(?:\.age)?$/

/** The name of an archive of this moment, without its endings. UTC. */
export function archiveName(at: Date): string {
  const [day = '', time = ''] = at.toISOString().split('T')
  return `gatehouse_backup_${day.replaceAll('-', '')}_${time.slice(0, 8).replaceAll(':', '')}`
}
