import { relPath } from '../../core/identity.ts'
import type { Format } from '../format.ts'
import { apkClient } from './client.ts'
import type { ApkFacts } from './facts.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'
import { isApk } from './members.ts'
import { complain } from './pkginfo.ts'
import { satisfies } from './relation.ts'
import { sample } from './sample.ts'
import { apkSite } from './site.ts'
import { apkTree } from './tree.ts'
import { apkUpstream } from './upstream.ts'
import { compareVersions, versionKey } from './version.ts'

// the purl specification leaves a colon as it is
const encode = (text: string): string => encodeURIComponent(text).replaceAll('%3A', ':')

/** Alpine packages of version 2. */
export const apk: Format<ApkFacts> = {
  id: 'apk',
  label: 'Alpine package (.apk)',
  word: 'apk',
  endings: ['.apk'],
  recognises: isApk,
  inspect,
  inner,
  compareVersions,
  versionKey,
  satisfies,
  // clients make the address from name and version, below the folder of the index:
  // <repository>/x86_64/<name>-<version>.apk. Source: apk-tools, apk_repo_format_real_url
  poolName: ({ name, version, arch }, _source, component) => relPath(`${component}/${arch}/${name}-${version}.apk`),
  neutralSharesAddress: true,
  archs: {
    usual: ['x86_64', 'aarch64'],
    neutral: ['noarch'],
    known: ['x86_64', 'aarch64', 'x86', 'armhf', 'armv7', 'ppc64le', 's390x', 'riscv64', 'loongarch64'],
  },
  declaresLicence: () => true,
  hasComponents: true,
  purl({ name, version, arch }, { scanner }, about) {
    const [vendor = '', release = ''] = scanner?.split(':') ?? []
    const upstream = about === undefined ? '' : `&upstream=${encode(about.source)}`
    const distro = vendor === '' ? '' : `&distro=${vendor}-${encode(release)}`
    return `pkg:apk/${vendor === '' ? '' : `${vendor}/`}${encode(name)}@${encode(version)}?arch=${encode(arch)}${distro}${upstream}`
  },
  installCommand: ({ name, version }) => `apk add ${name}=${version}`,
  sample,
  complain,
  tree: apkTree,
  upstream: apkUpstream,
  site: apkSite,
  client: apkClient,
}
