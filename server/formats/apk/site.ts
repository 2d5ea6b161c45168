import { join } from 'node:path'
import { relPath } from '../../core/identity.ts'
import { mainOf } from '../../core/repository.ts'
import type { Site } from '../site.ts'

/** `<codename>/<component>/<arch>/APKINDEX.tar.gz`, packages beside it, and `<key_file>`, below `/apk/`. */
export const apkSite: Site = {
  folder: 'apk',
  root: '/apk/',
  types: [
    [/\.apk$/, 'application/vnd.alpine.apk'],
    [/\.pub$/, 'text/plain; charset=utf-8'],
  ],
  place(segments, { layout, tree }) {
    const [first = '', component = '', arch = '', name = '', ...more] = segments
    if (segments.length === 1)
      return first.endsWith('.rsa.pub') ? { paths: [join(layout.apkKeys, first)], forEver: false } : undefined
    const at = tree(first)
    if (
      at === undefined ||
      more.length > 0 ||
      !at.distribution.components.includes(component) ||
      !at.distribution.archs.includes(arch)
    )
      return undefined
    if (name === 'APKINDEX.tar.gz') return { paths: [join(at.folder, component, arch, name)], forEver: false }
    if (!name.endsWith('.apk')) return undefined
    const pool = layout.publishedFolder(at.distribution.codename)
    const folders = [arch, ...at.distribution.neutral].map(one => join(pool, component, one, relPath(name)))
    // release 0.1 kept all packages in one folder: those it deleted within the last hour are still there
    return { paths: [...folders, join(pool, name)], forEver: true }
  },
  // apk-package(5): `NAME-VERSION-rN.apk`; the version begins with a digit
  nameIn(file) {
    const [, name, version = ''] = /^(.+?)-(\d[^-]*-r\d+)\.apk$/.exec(file) ?? []
    return name === undefined ? undefined : { name, version, arch: '' }
  },
  generationAddress: ({ codename, components }, n) => `/apk/${codename}@${n}/${mainOf({ components })}`,
}
