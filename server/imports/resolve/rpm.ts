import { satisfies } from '../../formats/rpm/relation.ts'
import { compareVersions } from '../../formats/rpm/version.ts'
import type { Need } from '../../formats/relations.ts'
import type { Resolver } from './closure.ts'
import type { Excluded, Rules, Wanted } from './rules.ts'
import { solve } from './solve.ts'

const fieldOf = (needs: readonly Need[] | undefined, field: string): Wanted[] =>
  needs?.map(need => ({ field, need })) ?? []

/** As dnf 4 with libsolv. Where several packages meet a need their names decide. */
const RULES: Rules = {
  fits: ({ arch }, machine) => arch === machine || arch === 'noarch',
  compareVersions,
  satisfies,
  counts: () => true,
  wants: ({ relations: { depends, recommends } }, withRecommends) => [
    ...fieldOf(depends, 'Requires'),
    ...(withRecommends ? fieldOf(recommends, 'Recommends').map((one): Wanted => ({ ...one, weak: true })) : []),
  ],
  excludes: ({ relations: { conflicts, obsoletes = [] } }): readonly Excluded[] => [
    ...fieldOf(conflicts, 'Conflicts'),
    ...obsoletes.map((one): Excluded => ({ field: 'Obsoletes', need: [one], byName: true })),
  ],
  prefer: () => 0,
  atOnce: true,
  isReplacedBy: ({ name, version }, { relations: { obsoletes } }) =>
    obsoletes?.some(one => one.name === name && satisfies({ name, version }, one)) ?? false,
}

/** What the group Core of the EL family and Fedora always installs, and what openSUSE's minimal system has instead. */
const CORE = [
  ...['audit', 'basesystem', 'bash', 'coreutils', 'cronie', 'crypto-policies', 'curl', 'dnf', 'dnf5', 'e2fsprogs'],
  ...['filesystem', 'firewalld', 'glibc', 'hostname', 'iproute', 'iputils', 'irqbalance', 'kbd', 'less', 'man-db'],
  ...['ncurses', 'openssh-clients', 'openssh-server', 'p11-kit', 'parted', 'passwd', 'policycoreutils', 'procps-ng'],
  ...['rootfiles', 'rpm', 'selinux-policy-targeted', 'setup', 'shadow-utils', 'sssd-common', 'sssd-kcm', 'sudo'],
  ...['systemd', 'util-linux', 'vim-minimal', 'yum'],
  ...['aaa_base', 'patterns-base-base', 'procps', 'shadow', 'zypper'],
]

/** RPM packages. */
export const rpmResolver: Resolver = {
  base: { names: CORE, essential: false, priorities: [] },
  resolve: (universe, question) => solve(universe, question, RULES),
}
