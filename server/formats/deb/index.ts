import { relPath } from '../../core/identity.ts'
import type { PackageIdentity, RelPath } from '../../core/identity.ts'
import type { Format } from '../format.ts'
import { debClient } from './client.ts'
import { AR_MAGIC } from '../../lib/ar.ts'
import { complain } from './control.ts'
import type { DebFacts } from './facts.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'
import { multiArch } from './multi-arch.ts'
import { satisfies } from './relation.ts'
import { sample } from './sample.ts'
import { debSite } from './site.ts'
import { announcements } from './source/announcements.ts'
import { complainSource, fileVersion } from './source/dsc.ts'
import { isDsc } from './source/inspect.ts'
import { debTree } from './tree.ts'
import { debUpstream } from './upstream.ts'
import { compareVersions, versionKey } from './version.ts'

const HEAD = Buffer.from(`${AR_MAGIC}debian-binary`, 'latin1')

const SOURCE = 'source'

/**
 * `h/hello`, `libx/libxyz`: as Debian's own pool is cut. The epoch stays in the file name, or two versions would share
 * one; with its colon as it is, since old clients ask for the name unencoded and newer ones encode it, and both must
 * find it.
 */
function poolName({ name, version, arch }: PackageIdentity, source: string, component: string): RelPath {
  const prefix = source.startsWith('lib') && source.length > 3 ? source.slice(0, 4) : source.slice(0, 1)
  // the parts of a source package name themselves without the epoch, so its .dsc does too
  const file = arch === SOURCE ? `${name}_${fileVersion(version)}.dsc` : `${name}_${version}_${arch}.deb`
  return relPath(`${component}/${prefix}/${source}/${file}`)
}

// the purl specification leaves a colon as it is
const encode = (text: string): string => encodeURIComponent(text).replaceAll('%3A', ':')

/** Debian binary packages. */
export const deb: Format<DebFacts> = {
  id: 'deb',
  label: 'Debian package (.deb)',
  word: 'apt',
  endings: ['.deb', '.dsc'],
  recognises: head => HEAD.equals(head.subarray(0, HEAD.length)) || isDsc(head),
  inspect,
  inner,
  compareVersions,
  versionKey,
  satisfies,
  multiArch,
  poolName,
  purl({ name, version, arch }, { scanner }, about) {
    // engines know distributions by number, not by codename
    const [vendor = '', release = ''] = scanner?.split(':') ?? []
    const upstream = about === undefined ? '' : `&upstream=${encode(`${about.source}@${about.source_version}`)}`
    const distro = vendor === '' ? '' : `&distro=${vendor}-${encode(release)}`
    return `pkg:deb/${vendor === '' ? '' : `${vendor}/`}${encode(name)}@${encode(version)}?arch=${encode(arch)}${distro}${upstream}`
  },
  installCommand: ({ name, version }, { kind } = {}) =>
    `apt-get ${kind === 'source' ? 'source' : 'install'} ${name}=${version}`,
  sample,
  complain: identity => (identity.arch === SOURCE ? complainSource(identity) : complain(identity)),
  announcements,
  archs: {
    usual: ['amd64', 'arm64'],
    neutral: ['all'],
    known: ['amd64', 'arm64', 'armel', 'armhf', 'i386', 'loong64', 'mips64el', 'ppc64el', 'riscv64', 's390x'],
  },
  hasComponents: true,
  // Debian policy, 2.4: "area/section", where the area is not main
  componentOf: ({ section = '' }) => (section.includes('/') ? section.split('/')[0] : undefined),
  tree: debTree,
  upstream: debUpstream,
  site: debSite,
  client: debClient,
}
