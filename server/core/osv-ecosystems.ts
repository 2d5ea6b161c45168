/** OSV's names of the distributions that are read. Source: https://ossf.github.io/osv-schema/#defined-ecosystems */
const OSV_DISTRIBUTIONS = ['Debian', 'Ubuntu', 'Alpine', 'AlmaLinux', 'Rocky Linux', 'Red Hat', 'openSUSE'] as const

/** The compiled data's names of the languages that are read, by OSV's. */
export const OSV_LANGUAGES = {
  'npm': 'npm',
  'PyPI': 'pypi',
  'Maven': 'maven',
  'Go': 'go',
  'crates.io': 'crates',
  'RubyGems': 'rubygems',
  'Packagist': 'packagist',
  'NuGet': 'nuget',
  'Pub': 'pub',
  'Hex': 'hex',
  'Hackage': 'hackage',
  'CRAN': 'cran',
  'SwiftURL': 'swift',
  'GitHub Actions': 'actions',
} as const

/** Every ecosystem that is read, by OSV's names: each has a folder of dumps. */
export const OSV_ECOSYSTEMS: readonly string[] = [...OSV_DISTRIBUTIONS, ...Object.keys(OSV_LANGUAGES)]
