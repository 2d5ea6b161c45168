import type { Codename, FormatId } from './identity.ts'
import type { Distribution } from './repository.ts'

interface Kind {
  readonly format: FormatId
  readonly archs: readonly string[]
  readonly neutral: readonly string[]
}

const DEB: Kind = { format: 'deb', archs: ['amd64'], neutral: ['all'] }
const RPM: Kind = { format: 'rpm', archs: ['x86_64'], neutral: ['noarch'] }
const APK: Kind = { format: 'apk', archs: ['x86_64'], neutral: ['noarch'] }

/** What a Release file says where nobody said otherwise. */
export const wordsFor = (codename: string, label: string): Distribution['release'] => ({
  suite: codename,
  origin: 'Gatehouse',
  label: 'Gatehouse',
  description: `Packages for ${label} that passed the gate`,
})

const entry =
  (kind: Kind) =>
  (codename: string, scanner: string, label: string): Distribution => ({
    ...kind,
    kind: 'distribution',
    codename: codename as Codename,
    components: ['main'],
    scanner,
    label,
    release: wordsFor(codename, label),
    state: 'active',
    builtin: true,
  })
const deb = entry(DEB)
const rpm = entry(RPM)
const apk = entry(APK)

/** The list of the specification, "Distribution". Order is the order of every answer. */
export const DEFAULT_DISTRIBUTIONS: readonly Distribution[] = [
  deb('jammy', 'ubuntu:22.04', 'Ubuntu 22.04 LTS'),
  deb('noble', 'ubuntu:24.04', 'Ubuntu 24.04 LTS'),
  deb('focal', 'ubuntu:20.04', 'Ubuntu 20.04 LTS'),
  deb('bookworm', 'debian:12', 'Debian 12'),
  rpm('almalinux8', 'almalinux:8', 'AlmaLinux 8'),
  rpm('almalinux9', 'almalinux:9', 'AlmaLinux 9'),
  rpm('rocky8', 'rocky:8', 'Rocky Linux 8'),
  rpm('rocky9', 'rocky:9', 'Rocky Linux 9'),
  rpm('centos-stream9', 'centos:9', 'CentOS Stream 9'),
  rpm('oraclelinux8', 'oracle:8', 'Oracle Linux 8'),
  rpm('fedora', 'fedora:40', 'Fedora'),
  rpm('opensuse-leap-15.6', 'opensuse.leap:15.6', 'openSUSE Leap 15.6'),
  rpm('opensuse-tumbleweed', 'opensuse.tumbleweed:rolling', 'openSUSE Tumbleweed'),
  apk('alpine3.18', 'alpine:3.18', 'Alpine 3.18'),
  apk('alpine3.19', 'alpine:3.19', 'Alpine 3.19'),
  apk('alpine3.20', 'alpine:3.20', 'Alpine 3.20'),
  apk('alpine3.21', 'alpine:3.21', 'Alpine 3.21'),
]
