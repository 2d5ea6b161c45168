import type { Blob, PackageIdentity } from '../../core/identity.ts'
import type { PackageFile } from '../../core/manifest.ts'
import type { Queryable } from '../../db/db.ts'

/** Which file of which package: of any version of it. */
export interface WantedFile extends Pick<PackageIdentity, 'format' | 'name' | 'arch'> {
  readonly codename: string
  readonly path: string
  readonly sha256: string
}

/**
 * A file of an earlier version of a package, such as the upstream tarball that revisions share. For somebody who
 * uploads to this distribution.
 */
export async function findEarlierFile(
  db: Queryable,
  { format, codename, name, arch, path, sha256 }: WantedFile,
): Promise<PackageFile | undefined> {
  const row = await db.first<Blob>(
    `
    select f.sha256, f.size, f.md5, f.sha1, f.sha512 from package p join package_file f on f.package_id = p.id
    where p.format = $1 and p.codename = $2 and p.name = $3 and p.arch = $4 and f.path = $5 and f.sha256 = $6 limit 1`,
    [format, codename, name, arch, path, sha256],
  )
  return row === undefined ? undefined : { path, blob: { ...row, size: Number(row.size) } }
}
