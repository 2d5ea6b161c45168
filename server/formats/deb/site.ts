import { join } from 'node:path'
import type { Site } from '../site.ts'

/** `dists/<codename>/…` and `pool/<codename>/<component>/…` below `/repos/`. */
export const debSite: Site = {
  folder: 'apt',
  root: '/repos/',
  types: [
    [/\.deb$/, 'application/vnd.debian.binary-package'],
    [/(^|\/)(InRelease|Release|Packages|Sources)$/, 'text/plain; charset=utf-8'],
  ],
  place([top, first, ...rest], { layout, tree }) {
    // reprepro's own pool, where it writes the indexes; nothing else lies under that name
    if (top === 'pool' && first === 'main' && rest.length > 0)
      return { paths: [join(layout.aptPool, first, ...rest)], forEver: true }
    const at = tree(first)
    if (at === undefined || rest.length === 0) return undefined
    if (top === 'dists') return { paths: [join(at.folder, ...rest)], forEver: rest.includes('by-hash') }
    const { distribution, n } = at
    if (top !== 'pool' || n !== undefined || !distribution.components.includes(rest[0] ?? '')) return undefined
    return { paths: [join(layout.publishedFolder(distribution.codename), ...rest)], forEver: true }
  },
  // dpkg-name(1): no epoch, and here its colon is percent-encoded; Debian Policy 5.6.7 forbids the underscore
  nameIn(file) {
    const [, name, version = '', arch = ''] = /^([^_]+)_([^_]+)_([^_]+)\.[du]?deb$/.exec(file) ?? []
    return name === undefined ? undefined : { name, version: version.replace(/%3a/i, ':'), arch }
  },
  isCommon: ([top]) => top === 'pool',
  generationAddress: ({ codename }, n) => `/repos/dists/${codename}@${n}/`,
}
