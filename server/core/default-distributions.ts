import type { Codename, FormatId } from './identity.ts'
import type { Distribution } from './repository.ts'

interface Kind {
  readonly format: FormatId
  readonly archs: readonly string[]
  readonly neutral: readonly string[]
}

const DEB: Kind = { format: 'deb', archs: ['amd64', 'arm64'], neutral: ['all'] }
const RPM: Kind = { format: 'rpm', archs: ['x86_64', 'aarch64'], neutral: ['noarch'] }
const APK: Kind = { format: 'apk', archs: ['x86_64', 'aarch64'], neutral: ['noarch'] }

/** The default lines of a Release file. */
export const wordsFor = (codename: string, label: string): Distribution['release'] => ({
  suite: codename,
  origin: 'Gatehouse',
  label: 'Gatehouse',
  description: `Packages for ${label} that passed the gate`,
})

const entry =
  (kind: Kind) =>
  (codename: string, scanner: string, label: string, endOfLife?: string): Distribution => ({
    ...kind,
    kind: 'distribution',
    codename: codename as Codename,
    components: ['main'],
    scanner,
    label,
    release: wordsFor(codename, label),
    ...(endOfLife === undefined ? {} : { endOfLife }),
    state: 'active',
    builtin: true,
  })
const deb = entry(DEB)
const rpm = entry(RPM)
const apk = entry(APK)

/**
 * The list of the specification, "Distribution", and what is supported in November 2026. Order is the order of every
 * answer. The dates are the ends of free security updates: of Debian's LTS, of Ubuntu's standard support.
 * Source for Debian and Ubuntu: distro-info-data. The others are the dates that their makers announced; Fedora's follow
 * the release after the next one, and may move.
 */
export const DEFAULT_DISTRIBUTIONS: readonly Distribution[] = [
  deb('jammy', 'ubuntu:22.04', 'Ubuntu 22.04 LTS', '2027-06-01'),
  deb('noble', 'ubuntu:24.04', 'Ubuntu 24.04 LTS', '2029-05-31'),
  deb('focal', 'ubuntu:20.04', 'Ubuntu 20.04 LTS', '2025-05-29'),
  deb('resolute', 'ubuntu:26.04', 'Ubuntu 26.04 LTS', '2031-05-29'),
  deb('bookworm', 'debian:12', 'Debian 12', '2028-06-30'),
  deb('trixie', 'debian:13', 'Debian 13', '2030-06-30'),
  deb('bullseye', 'debian:11', 'Debian 11', '2026-08-31'),
  rpm('almalinux8', 'almalinux:8', 'AlmaLinux 8', '2029-03-01'),
  rpm('almalinux9', 'almalinux:9', 'AlmaLinux 9', '2032-05-31'),
  rpm('almalinux10', 'almalinux:10', 'AlmaLinux 10', '2035-05-31'),
  rpm('rocky8', 'rocky:8', 'Rocky Linux 8', '2029-05-31'),
  rpm('rocky9', 'rocky:9', 'Rocky Linux 9', '2032-05-31'),
  rpm('rocky10', 'rocky:10', 'Rocky Linux 10', '2035-05-31'),
  rpm('centos-stream9', 'centos:9', 'CentOS Stream 9', '2027-05-31'),
  rpm('centos-stream10', 'centos:10', 'CentOS Stream 10', '2030-01-01'),
  rpm('oraclelinux8', 'oracle:8', 'Oracle Linux 8', '2029-07-31'),
  rpm('oraclelinux9', 'oracle:9', 'Oracle Linux 9', '2032-06-30'),
  rpm('oraclelinux10', 'oracle:10', 'Oracle Linux 10', '2035-06-30'),
  rpm('fedora', 'fedora:40', 'Fedora'),
  rpm('fedora43', 'fedora:43', 'Fedora 43', '2026-12-02'),
  rpm('fedora44', 'fedora:44', 'Fedora 44', '2027-06-02'),
  rpm('fedora45', 'fedora:45', 'Fedora 45', '2027-12-08'),
  rpm('opensuse-leap-15.6', 'opensuse.leap:15.6', 'openSUSE Leap 15.6', '2026-04-30'),
  rpm('opensuse-leap-16.0', 'opensuse.leap:16.0', 'openSUSE Leap 16.0', '2027-10-31'),
  rpm('opensuse-tumbleweed', 'opensuse.tumbleweed:rolling', 'openSUSE Tumbleweed'),
  apk('alpine3.18', 'alpine:3.18', 'Alpine 3.18', '2025-05-09'),
  apk('alpine3.19', 'alpine:3.19', 'Alpine 3.19', '2025-11-01'),
  apk('alpine3.20', 'alpine:3.20', 'Alpine 3.20', '2026-04-01'),
  apk('alpine3.21', 'alpine:3.21', 'Alpine 3.21', '2026-11-01'),
  apk('alpine3.22', 'alpine:3.22', 'Alpine 3.22', '2027-05-01'),
  apk('alpine3.23', 'alpine:3.23', 'Alpine 3.23', '2027-11-01'),
  apk('alpine3.24', 'alpine:3.24', 'Alpine 3.24', '2028-05-01'),
]
