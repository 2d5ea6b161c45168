import type { PackageKind } from '../../core/manifest.ts'
import type { RpmFacts } from './facts.ts'
import type { RpmHeader } from './header.ts'
import { TAG } from './tags.ts'

/** The architecture under which every source package is listed, as createrepo_c writes it: `nosrc` ones, too. */
export const SOURCE = 'src'

/** True for the header of a source package: its own architecture is that of the machine which made it. */
export const isSourceHeader = (header: RpmHeader): boolean => header.has(TAG.sourcepackage)

const DEBUG_NAME = /-debug(?:info|source)$/
/** Marks that only find-debuginfo and rpmbuild leave in what they make. */
const DEBUG_GROUP = 'Development/Debug'
const BUILD_ID = 'debuginfo(build-id)'

/** Debug packages have the name and one of the marks that rpmbuild gives them; anybody can choose the name. */
export function isDebug(name: string, { group, provides }: Pick<RpmFacts, 'group' | 'provides'>): boolean {
  return DEBUG_NAME.test(name) && (group === DEBUG_GROUP || provides.some(one => one.name === BUILD_ID))
}

/** One of the repositories that a distribution consists of: dnf and zypper are given each by itself. */
export interface RpmRepo {
  /** Below the codename: `x86_64`, `x86_64/debug`, `src`. */
  readonly folder: string
  readonly arch: string
  readonly kind: PackageKind
}

/** Those for installing first. */
export const reposOf = ({ archs }: { readonly archs: readonly string[] }): readonly RpmRepo[] => [
  ...archs.map(arch => ({ folder: arch, arch, kind: 'binary' as const })),
  ...archs.map(arch => ({ folder: `${arch}/debug`, arch, kind: 'debug' as const })),
  { folder: SOURCE, arch: SOURCE, kind: 'source' },
]
