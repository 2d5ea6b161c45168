import type { PackageItem } from '../../wire.ts'

/** What tells a row of the list from every other. */
export const keyOf = ({ format, name, version, arch, distribution }: PackageItem): string =>
  `${format} ${name} ${version} ${arch} ${distribution}`
