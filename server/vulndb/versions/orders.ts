import { compareCran, isCran } from './cran.ts'
import { compareHackage, isHackage } from './hackage.ts'
import { compareMaven } from '../../core/versions/maven.ts'
import { compareNative, isNative } from './native.ts'
import { compareNuget, isNuget } from './nuget.ts'
import { comparePackagist, isPackagist } from './packagist.ts'
import { comparePep440, isPython } from '../../core/versions/pep440.ts'
import { comparePub, isPub } from './pub.ts'
import { compareRubyGems, isRubyGems } from './rubygems.ts'
import { compareSemver, isSemver } from '../../core/versions/semver.ts'

/** How versions of one kind are read and compared. */
export interface VersionOrder {
  /** <0, 0, >0; only for what `isVersion` or `reads` accepts. */
  compare(a: string, b: string): number
  /** Whether a feed may end a range with it: `unknown` and `<unfixed>` are no versions. */
  isVersion(text: string): boolean
  /** Whether a package's version can be compared; wider than `isVersion` where the ecosystem's tool orders any text. */
  reads(text: string): boolean
}

/** The kinds of order; the first three are those of the package formats. */
export type OrderId =
  | 'deb'
  | 'rpm'
  | 'apk'
  | 'semver'
  | 'pep440'
  | 'maven'
  | 'rubygems'
  | 'packagist'
  | 'nuget'
  | 'pub'
  | 'hackage'
  | 'cran'
  | 'native'
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
  rpm: /^(?=.*\d)[^\s<>=,;"'()]+$/,
  apk: /^\d+(\.\d+)*([a-z]\d+(\.\d+)*)*[a-z]?(_(alpha|beta|pre|rc|cvs|svn|git|hg|p)\d*)*(~[0-9a-f]+)?(-r\d+)?$/,
}

/** rpm orders any text without blanks. */
const READ: typeof SHAPES = { ...SHAPES, rpm: /^\S+$/ }

const LONGEST = 200

/**
 * Any text is a version to Maven. Here it must have a number, or a release word as in `Hoxton.RELEASE`: `unknown` is
 * none.
 */
const MAVEN = /^(?=.*\d|.*[.-](?:release|final|ga|snapshot|build-snapshot)$)[a-z0-9][a-z0-9._+~-]*$/i
const isMaven = (text: string): boolean => text.length <= LONGEST && MAVEN.test(text)

const order = (compare: VersionOrder['compare'], isVersion: VersionOrder['isVersion']): VersionOrder => ({
  compare,
  isVersion,
  reads: isVersion,
})

/** Every order: the formats' as given, those of the language ecosystems from here. */
export function createOrders({ compare }: FormatOrders): Orders {
  const ofFormat = (format: 'deb' | 'rpm' | 'apk'): VersionOrder => ({
    compare: (a, b) => compare(format, a, b),
    isVersion: text => text.length <= LONGEST && SHAPES[format].test(text),
    reads: text => text.length <= LONGEST && READ[format].test(text),
  })
  return {
    deb: ofFormat('deb'),
    rpm: ofFormat('rpm'),
    apk: ofFormat('apk'),
    semver: order(compareSemver, isSemver),
    pep440: order(comparePep440, isPython),
    maven: order(compareMaven, isMaven),
    rubygems: order(compareRubyGems, isRubyGems),
    packagist: order(comparePackagist, isPackagist),
    nuget: order(compareNuget, isNuget),
    pub: order(comparePub, isPub),
    hackage: order(compareHackage, isHackage),
    cran: order(compareCran, isCran),
    native: order(compareNative, isNative),
  }
}
