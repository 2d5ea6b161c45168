import { relPath } from '../../core/identity.ts'
import type { PackageIdentity, RelPath } from '../../core/identity.ts'
import type { Format } from '../format.ts'
import { rpmClient } from './client.ts'
import { complain } from './describe.ts'
import type { RpmFacts } from './facts.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'
import { LEAD_MAGIC } from './package.ts'
import { satisfies } from './relation.ts'
import { signRpm } from './sign.ts'
import { sample } from './sample.ts'
import { rpmSite } from './site.ts'
import { rpmTree } from './tree.ts'
import { rpmUpstream } from './upstream.ts'
import { compareVersions, parseEvr, versionKey } from './version.ts'
import { isPrimaryFile } from './xml.ts'

/**
 * `h/hello-1.0-1.x86_64.rpm`, as distributions lay out their own. File names of rpms carry no epoch, and two versions
 * must not share one, so a version that has one lies in a folder for it: `h/e2/hello-1.0-1.x86_64.rpm`.
 */
function poolName({ name, version, arch }: PackageIdentity): RelPath {
  const { epoch, version: upstream, release = '' } = parseEvr(version)
  return relPath(
    `${name.charAt(0).toLowerCase()}/${epoch === undefined ? '' : `e${epoch}/`}${name}-${upstream}-${release}.${arch}.rpm`,
  )
}

/** The names in os-release, where they differ, for `distro=<ID>-<VERSION_ID>`. */
const OS_IDS: Readonly<Record<string, string>> = {
  'oracle': 'ol',
  'opensuse.leap': 'opensuse-leap',
  'opensuse.tumbleweed': 'opensuse-tumbleweed',
}
/** Namespaces of the purl specification, where they differ from the family. */
const VENDORS: Readonly<Record<string, string>> = { 'opensuse.leap': 'opensuse', 'opensuse.tumbleweed': 'opensuse' }

/** Sources and debug symbols are in repositories that the client's file has switched off. */
const installCommand: Format['installCommand'] = ({ name, version }, { manager = 'dnf', kind = 'binary' } = {}) => {
  const repo = kind === 'source' ? 'gatehouse-source' : 'gatehouse-debuginfo'
  if (manager === 'zypper') {
    const install = kind === 'source' ? 'source-install' : 'install'
    return `${kind === 'binary' ? '' : `zypper modifyrepo --enable ${repo} && `}zypper ${install} ${name}=${version}`
  }
  if (kind === 'source') return `dnf download --source --enablerepo=${repo} ${name}-${version}`
  return `dnf install ${kind === 'debug' ? `--enablerepo=${repo} ` : ''}${name}-${version}`
}

/** RPM packages. */
export const rpm: Format<RpmFacts> = {
  id: 'rpm',
  label: 'RPM package (.rpm)',
  word: 'rpm',
  endings: ['.rpm'],
  recognises: head => LEAD_MAGIC.equals(head.subarray(0, LEAD_MAGIC.length)),
  inspect,
  inner,
  compareVersions,
  versionKey,
  satisfies,
  // other files are in the list of what a package provides
  fileOf: name => (name.startsWith('/') && !isPrimaryFile(name) ? name.slice(1) : undefined),
  poolName,
  purl({ name, version, arch }, distribution, about) {
    const { epoch, version: upstream, release = '' } = parseEvr(version)
    const [family = '', number = ''] = distribution.scanner?.split(':') ?? []
    const distro = family === '' ? '' : `&distro=${encodeURIComponent(`${OS_IDS[family] ?? family}-${number}`)}`
    const vendor = family === '' ? '' : `${VENDORS[family] ?? family}/`
    // engines require the file name of the source package, ending in .rpm
    const source =
      about === undefined ? '' : `&upstream=${encodeURIComponent(`${about.source}-${about.source_version}.src.rpm`)}`
    return (
      `pkg:rpm/${vendor}${encodeURIComponent(name)}@${encodeURIComponent(`${upstream}-${release}`)}` +
      `?arch=${encodeURIComponent(arch)}${distro}${epoch === undefined ? '' : `&epoch=${epoch}`}${source}`
    )
  },
  installCommand,
  sample,
  complain,
  archs: {
    usual: ['x86_64', 'aarch64'],
    neutral: ['noarch'],
    known: ['x86_64', 'aarch64', 'i686', 'armv7hl', 'ppc64le', 's390x', 'riscv64'],
  },
  declaresLicence: () => true,
  hasComponents: false,
  sign: signRpm,
  tree: rpmTree,
  upstream: rpmUpstream,
  site: rpmSite,
  client: rpmClient,
}
