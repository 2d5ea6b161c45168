import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import type { Source } from '../source.ts'
import { VENDOR_KEYS, type VendorKeyId } from '../trust/vendors.ts'

/** A source that comes with the product. */
export type BuiltinSource = Omit<Source, 'id' | 'enabled' | 'builtin'>

type Keys = readonly VendorKeyId[]

interface Entry {
  readonly key: string
  readonly label: string
  readonly url: string
  readonly codenames: readonly string[]
  readonly keys: Keys
  readonly archs: readonly string[]
  readonly suite?: string
  readonly components?: readonly string[]
  readonly security?: true
  readonly unsigned?: true
}

const DEB_ARCHS = ['amd64', 'arm64']
const CPUS = ['x86_64', 'aarch64']

function debian(codename: string, label: string, keys: Keys, security: VendorKeyId): Entry[] {
  const common = { codenames: [codename], components: ['main'], archs: DEB_ARCHS }
  const archive = { ...common, url: 'http://ftp.debian.org/debian/', keys }
  return [
    { ...archive, key: codename, label, suite: codename },
    { ...archive, key: `${codename}-updates`, label: `${label} updates`, suite: `${codename}-updates` },
    {
      ...common,
      key: `${codename}-security`,
      label: `${label} security`,
      url: 'http://security.debian.org/debian-security/',
      keys: [security],
      suite: `${codename}-security`,
      security: true,
    },
  ]
}

/** amd64 lies on the archive, arm64 on the ports. */
function ubuntu(codename: string, label: string): Entry[] {
  const keys: Keys = ['ubuntu2018', 'ubuntu2012']
  const common = { codenames: [codename], components: ['main', 'universe'], keys }
  return ['', '-updates', '-security'].flatMap((part): Entry[] => {
    const suite = `${codename}${part}`
    const words = `${label}${part.replace('-', ' ')}`
    const more = { ...common, suite, ...(part === '-security' ? { security: true as const } : {}) }
    const host = part === '-security' ? 'security' : 'archive'
    return [
      { ...more, key: suite, label: words, url: `http://${host}.ubuntu.com/ubuntu/`, archs: ['amd64'] },
      {
        ...more,
        key: `${suite}-arm64`,
        label: `${words} arm64`,
        url: 'http://ports.ubuntu.com/ubuntu-ports/',
        archs: ['arm64'],
      },
    ]
  })
}

/** One source for each architecture: each has a root of its own. */
const each = (entries: (cpu: string, suffix: string, words: string) => Entry[]): Entry[] =>
  CPUS.flatMap(cpu => (cpu === 'x86_64' ? entries(cpu, '', '') : entries(cpu, `-${cpu}`, ` ${cpu}`)))

interface Family {
  readonly codename: string
  readonly label: string
  readonly keys: Keys
  readonly parts: Readonly<Record<string, (cpu: string) => string>>
  readonly unsigned?: true
  readonly extrasKeys?: Keys
}

/** Security updates of the EL family come in BaseOS and AppStream. */
function el({ codename, label, keys, parts, unsigned, extrasKeys }: Family): Entry[] {
  return each((cpu, suffix, words) =>
    Object.entries(parts).map(([part, url]) => ({
      key: `${codename}-${part.toLowerCase()}${suffix}`,
      label: `${label} ${part}${words}`,
      url: url(cpu),
      codenames: [codename],
      keys: part === 'extras' && extrasKeys !== undefined ? extrasKeys : keys,
      archs: [cpu],
      ...(part === 'BaseOS' || part === 'AppStream' ? { security: true as const } : {}),
      ...(unsigned === undefined ? {} : { unsigned }),
    })),
  )
}

function rebuild(id: 'almalinux' | 'rocky', name: string, major: 8 | 9 | 10): Entry[] {
  const base = { almalinux: 'https://repo.almalinux.org/almalinux', rocky: 'https://dl.rockylinux.org/pub/rocky' }[id]
  const builder = major === 8 ? 'PowerTools' : 'CRB'
  const parts = ['BaseOS', 'AppStream', builder, 'extras'].map(
    part => [part, (cpu: string) => `${base}/${major}/${part}/${cpu}/os/`] as const,
  )
  const keys: Keys = [`${id}${major}`]
  return el({ codename: `${id}${major}`, label: `${name} ${major}`, keys, parts: Object.fromEntries(parts) })
}

function centos(major: 9 | 10): Entry[] {
  const base = 'https://mirror.stream.centos.org'
  const parts = ['BaseOS', 'AppStream', 'CRB'].map(
    part => [part, (cpu: string) => `${base}/${major}-stream/${part}/${cpu}/os/`] as const,
  )
  return el({
    codename: `centos-stream${major}`,
    label: `CentOS Stream ${major}`,
    keys: ['centos'],
    extrasKeys: ['centosExtras', 'centos'],
    parts: {
      ...Object.fromEntries(parts),
      extras: cpu => `${base}/SIGs/${major}-stream/extras/${cpu}/extras-common/`,
    },
  })
}

function oracle(major: 8 | 9 | 10): Entry[] {
  const base = `https://yum.oracle.com/repo/OracleLinux/OL${major}`
  return el({
    codename: `oraclelinux${major}`,
    label: `Oracle Linux ${major}`,
    keys: [major === 8 ? 'oracle8' : 'oracle9'],
    unsigned: true,
    parts: {
      BaseOS: cpu => `${base}/baseos/latest/${cpu}/`,
      AppStream: cpu => `${base}/appstream/${cpu}/`,
      CodeReady: cpu => `${base}/codeready/builder/${cpu}/`,
    },
  })
}

function epel(major: 8 | 9 | 10): Entry[] {
  const families = ['almalinux', 'rocky', 'oraclelinux', ...(major === 8 ? [] : ['centos-stream'])]
  return each((cpu, suffix, words) => [
    {
      key: `epel${major}${suffix}`,
      label: `EPEL ${major}${words}`,
      url: `https://dl.fedoraproject.org/pub/epel/${major}/Everything/${cpu}/`,
      codenames: families.map(family => `${family}${major}`),
      keys: [`epel${major}`],
      archs: [cpu],
      security: true,
      unsigned: true,
    },
  ])
}

function fedora(codename: string, release: 40 | 43 | 44 | 45): Entry[] {
  const base =
    release === 40
      ? 'https://archives.fedoraproject.org/pub/archive/fedora/linux'
      : 'https://dl.fedoraproject.org/pub/fedora/linux'
  const common = { codenames: [codename], keys: [`fedora${release}`] as const, unsigned: true as const }
  return each((cpu, suffix, words) => [
    {
      ...common,
      key: `${codename}${suffix}`,
      label: `Fedora ${release}${words}`,
      url: `${base}/releases/${release}/Everything/${cpu}/os/`,
      archs: [cpu],
    },
    {
      ...common,
      key: `${codename}-updates${suffix}`,
      label: `Fedora ${release} updates${words}`,
      url: `${base}/updates/${release}/Everything/${cpu}/`,
      archs: [cpu],
      security: true,
    },
  ])
}

const SUSE = 'https://download.opensuse.org'
const suse = (codename: string, part: string, label: string, path: string, more: Partial<Entry> = {}): Entry => ({
  key: `${codename}${part}`,
  label,
  url: `${SUSE}/${path}/`,
  codenames: [codename],
  keys: ['opensuse', 'leapSle', 'leapBackports', 'leap16Backports'],
  archs: CPUS,
  ...more,
})

const opensuse = (): Entry[] => [
  suse('opensuse-leap-15.6', '-oss', 'openSUSE Leap 15.6', 'distribution/leap/15.6/repo/oss'),
  ...(['oss', 'sle', 'backports'] as const).map(part =>
    suse('opensuse-leap-15.6', `-update-${part}`, `openSUSE Leap 15.6 updates ${part}`, `update/leap/15.6/${part}`, {
      security: true,
    }),
  ),
  ...each((cpu, suffix, words) => [
    suse(
      'opensuse-leap-16.0',
      `-oss${suffix}`,
      `openSUSE Leap 16.0${words}`,
      `distribution/leap/16.0/repo/oss/${cpu}`,
      {
        archs: [cpu],
        security: true,
      },
    ),
  ]),
  suse('opensuse-tumbleweed', '-oss', 'openSUSE Tumbleweed', 'tumbleweed/repo/oss', { archs: ['x86_64'] }),
  suse('opensuse-tumbleweed', '-update', 'openSUSE Tumbleweed updates', 'update/tumbleweed', {
    archs: ['x86_64'],
    security: true,
  }),
  suse('opensuse-tumbleweed', '-oss-aarch64', 'openSUSE Tumbleweed aarch64', 'ports/aarch64/tumbleweed/repo/oss', {
    archs: ['aarch64'],
  }),
]

/** Security updates come in the branch itself. */
const alpine = (release: string): Entry[] =>
  ['main', 'community'].map(part => ({
    key: `alpine${release}-${part}`,
    label: `Alpine ${release} ${part}`,
    url: `https://dl-cdn.alpinelinux.org/alpine/v${release}/${part}/`,
    codenames: [`alpine${release}`],
    keys: ['alpineX86', 'alpineArm'],
    archs: CPUS,
    security: true,
  }))

const MAJORS = [8, 9, 10] as const
const ENTRIES: Readonly<Record<FormatId, readonly Entry[]>> = {
  deb: [
    ...['jammy 22.04', 'noble 24.04', 'focal 20.04', 'resolute 26.04'].flatMap(text => {
      const [codename = '', release = ''] = text.split(' ')
      return ubuntu(codename, `Ubuntu ${release}`)
    }),
    ...debian('bookworm', 'Debian 12', ['debian12', 'debian12stable'], 'debian12security'),
    ...debian('trixie', 'Debian 13', ['debian13', 'debian13stable'], 'debian13security'),
    ...debian('bullseye', 'Debian 11', ['debian11', 'debian11stable'], 'debian11security'),
  ],
  rpm: [
    ...MAJORS.flatMap(major => rebuild('almalinux', 'AlmaLinux', major)),
    ...MAJORS.flatMap(major => rebuild('rocky', 'Rocky Linux', major)),
    ...centos(9),
    ...centos(10),
    ...MAJORS.flatMap(oracle),
    ...MAJORS.flatMap(epel),
    ...fedora('fedora', 40),
    ...([43, 44, 45] as const).flatMap(release => fedora(`fedora${release}`, release)),
    ...opensuse(),
  ],
  apk: ['3.18', '3.19', '3.20', '3.21', '3.22', '3.23', '3.24'].flatMap(alpine),
}

/** The last days of security updates that the default distributions do not name. */
const ENDED: Readonly<Record<string, string>> = { fedora: '2025-05-13' }
const END_OF_LIFE = new Map<string, string | undefined>(
  DEFAULT_DISTRIBUTIONS.map(({ codename, endOfLife }) => [codename, endOfLife ?? ENDED[codename]]),
)

/**
 * The sources of every distribution that comes with the product, one for each signed root. Retired are those whose
 * distributions have all come to their end.
 */
export function listBuiltins(now: Date): readonly BuiltinSource[] {
  const today = now.toISOString().slice(0, 10)
  return Object.entries(ENTRIES).flatMap(([format, entries]) =>
    entries.map(({ key, label, url, codenames, keys, archs, suite, components = [], security, unsigned }) => ({
      key,
      label,
      format,
      kind: 'http' as const,
      urls: [url],
      ...(suite === undefined ? {} : { suite }),
      components,
      archs,
      codenames: codenames as readonly Codename[],
      security: security === true,
      keys: keys.map(id => VENDOR_KEYS[id].name),
      signed: unsigned !== true,
      allowExpired: false,
      retired: codenames.every(codename => (END_OF_LIFE.get(codename) ?? '9999') < today),
    })),
  )
}
