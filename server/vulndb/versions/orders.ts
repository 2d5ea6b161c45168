import { compareMaven } from './maven.ts'
import { comparePep440, isPep440 } from './pep440.ts'
import { compareSemver, isSemver } from './semver.ts'

/** How versions of one kind are read and compared. */
export interface VersionOrder {
  /** <0, 0, >0; only for what `isVersion` accepts. */
  compare(a: string, b: string): number
  isVersion(text: string): boolean
}

/** The kinds of order; the first three are those of the package formats. */
export type OrderId = 'deb' | 'rpm' | 'apk' | 'semver' | 'pep440' | 'maven'
export type Orders = Readonly<Record<OrderId, VersionOrder>>

/** The order of versions in the package formats. It is passed in, because formats stand beside this folder. */
export interface FormatOrders {
  compare(format: 'deb' | 'rpm' | 'apk', a: string, b: string): number
}

/*
 * Feeds write other things for versions, too: `unknown`, `<unfixed>`, `2024-01-01 and later`. These are the shapes that
 * dpkg, rpm and apk compare sensibly. They are wider than what the formats accept in a package, because old versions in
 * feeds are odd.
 */
const SHAPES: Readonly<Record<'deb' | 'rpm' | 'apk', RegExp>> = {
  deb: /^(\d+:)?\d[A-Za-z0-9.+~:-]*$/,
  rpm: /^(\d+:)?(?=[^-]*\d)[A-Za-z0-9._+~^]+(-[A-Za-z0-9._+~^]+)?$/,
  apk: /^\d+(\.\d+)*[a-z]?(_(alpha|beta|pre|rc|cvs|svn|git|hg|p)\d*)*(~[0-9a-f]+)?(-r\d+)?$/,
}

/**
 * Any text is a version to Maven. Here it must have a number, or a release word as in `Hoxton.RELEASE`: `unknown` is
 * none.
 */
const MAVEN = /^(?=.*\d|.*[.-](?:release|final|ga|snapshot|build-snapshot)$)[a-z0-9][a-z0-9._+~-]*$/i

/** Every order: the formats' as given, those of the language ecosystems from here. */
export function createOrders({ compare }: FormatOrders): Orders {
  const ofFormat = (format: 'deb' | 'rpm' | 'apk'): VersionOrder => ({
    compare: (a, b) => compare(format, a, b),
    isVersion: text => text.length <= 200 && SHAPES[format].test(text),
  })
  return {
    deb: ofFormat('deb'),
    rpm: ofFormat('rpm'),
    apk: ofFormat('apk'),
    semver: { compare: compareSemver, isVersion: isSemver },
    pep440: { compare: comparePep440, isVersion: isPep440 },
    maven: { compare: compareMaven, isVersion: text => text.length <= 200 && MAVEN.test(text) },
  }
}
