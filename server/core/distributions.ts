import type { Codename, FormatId } from './identity.ts'
import { fail } from './errors.ts'

/** A distribution as the specification fixes it. `archs[0]` is the one clients name; the others ride in its index. */
export interface Distribution {
  readonly codename: Codename
  readonly format: FormatId
  /** The kind of repository it is, and the folder below `/repos` in which its tree lies. */
  readonly family: 'apt' | 'rpm' | 'apk'
  readonly component: 'main'
  /** Architectures whose index is published. */
  readonly archs: readonly string[]
  /** Architectures that belong into every index (`all`, `noarch`). */
  readonly neutral: readonly string[]
  /** `family:release`, what a vulnerability engine calls it. */
  readonly scanner: string
  readonly label: string
}

const apt = (codename: string, scanner: string, label: string): Distribution => ({
  codename: codename as Codename,
  format: 'deb',
  family: 'apt',
  component: 'main',
  archs: ['amd64'],
  neutral: ['all'],
  scanner,
  label,
})
const rpm = (codename: string, scanner: string, label: string): Distribution => ({
  codename: codename as Codename,
  format: 'rpm',
  family: 'rpm',
  component: 'main',
  archs: ['x86_64'],
  neutral: ['noarch'],
  scanner,
  label,
})
const apk = (codename: string, scanner: string, label: string): Distribution => ({
  codename: codename as Codename,
  format: 'apk',
  family: 'apk',
  component: 'main',
  archs: ['x86_64'],
  neutral: ['noarch'],
  scanner,
  label,
})

/** The fixed list of the specification, "Distribution". Order is the order of every answer. */
export const DISTRIBUTIONS: readonly Distribution[] = [
  apt('jammy', 'ubuntu:22.04', 'Ubuntu 22.04 LTS'),
  apt('noble', 'ubuntu:24.04', 'Ubuntu 24.04 LTS'),
  apt('focal', 'ubuntu:20.04', 'Ubuntu 20.04 LTS'),
  apt('bookworm', 'debian:12', 'Debian 12'),
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

const byCodename = new Map(DISTRIBUTIONS.map(distribution => [distribution.codename as string, distribution]))

/** The architecture that a package of this one counts as, seen from a client: neutral ones as its own. */
export function nativeOf({ archs, neutral }: Pick<Distribution, 'archs' | 'neutral'>, arch: string): string {
  return neutral.includes(arch) ? (archs[0] ?? arch) : arch
}

export function findDistribution(codename: string): Distribution | undefined {
  return byCodename.get(codename)
}

/** @throws unknown_distribution, naming the codenames that exist */
export function getDistribution(codename: string): Distribution {
  return (
    byCodename.get(codename) ??
    fail('unknown_distribution', {
      codename: codename.slice(0, 80),
      known: DISTRIBUTIONS.map(d => d.codename).join(', '),
    })
  )
}
