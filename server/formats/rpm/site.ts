import { join } from 'node:path'
import type { Site } from '../site.ts'
import { reposOf } from './kind.ts'

/** The index and the signature over it, which clients fetch one after the other. */
const HALVES: Readonly<Record<string, 'index' | 'signature'>> = {
  'repomd.xml': 'index',
  'repomd.xml.asc': 'signature',
}

/** `<codename>/<arch>/repodata/…` and `<codename>/<arch>/Packages/…` below `/repos/`. */
export const rpmSite: Site = {
  folder: 'rpm',
  root: '/repos/',
  types: [
    [/\.rpm$/, 'application/x-rpm'],
    [/\.xml$/, 'application/xml'],
  ],
  place([first, arch = '', ...below], { layout, tree }) {
    const at = tree(first)
    const folder = below[0] === 'debug' ? `${arch}/debug` : arch
    const [top, ...rest] = folder === arch ? below : below.slice(1)
    if (at === undefined || rest.length === 0 || !reposOf(at.distribution).some(one => one.folder === folder))
      return undefined
    const { codename } = at.distribution
    if (top === 'Packages') return { paths: [join(layout.publishedFolder(codename), ...rest)], forEver: true }
    if (top !== 'repodata' || rest.length !== 1) return undefined
    const [name = ''] = rest
    const isHashed = /^[0-9a-f]{64}-/.test(name)
    const path = join(folder, top, name)
    const paths = [join(at.folder, path)]
    // who read the repomd of a moment ago asks for files that the live tree names no more
    if (isHashed) paths.push(join(layout.byHash(codename), path))
    const part = HALVES[name]
    return part === undefined || at.n !== undefined
      ? { paths, forEver: isHashed }
      : { paths, forEver: false, half: { codename, pair: folder, part, path } }
  },
  // NAME-VERSION-RELEASE.ARCH: neither version nor release has a hyphen. Source: rpm.org, "Package naming"
  nameIn(file) {
    const [, name, version = '', arch = ''] = /^(.+)-([^-]+-[^-]+)\.([^.]+)\.rpm$/.exec(file) ?? []
    return name === undefined ? undefined : { name, version, arch }
  },
  generationAddress: ({ codename, archs }, n) => `/repos/${codename}@${n}/${archs[0] ?? ''}/`,
}
