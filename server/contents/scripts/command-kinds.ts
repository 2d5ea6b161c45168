import type { InstallFactKind } from '../../core/install-facts.ts'

interface Called {
  readonly texts: readonly string[]
  /** The arguments in one line. */
  readonly line: string
}

interface Rule {
  readonly kind: InstallFactKind
  /** All calls of the program where it is absent. */
  readonly when?: (called: Called) => boolean
}

const has =
  (pattern: RegExp) =>
  ({ line }: Called): boolean =>
    pattern.test(line)
const hasNot =
  (pattern: RegExp) =>
  ({ line }: Called): boolean =>
    !pattern.test(line)

const SETUID_MODE = /^0?[4-7][0-7]{3}$/
/** `u+s`, `a=rxs`; not `g+s`, which folders have. Source: chmod(1) */
const isSetuidMode = (text: string): boolean =>
  SETUID_MODE.test(text) ||
  text.split(',').some(clause => {
    const [, who] = /^([ugoa]*)[+=][rwxXt]*s[rwxXst]*$/.exec(clause) ?? []
    return who !== undefined && (who === '' || /[ua]/.test(who))
  })
const isSetuid = ({ texts }: Called): boolean => texts.some(isSetuidMode)
const isInstalledSetuid = ({ line }: Called): boolean =>
  /(?:^| )(?:-[A-Za-z]*m *|--mode[= ])(?:0?[4-7][0-7]{3}|u[+=]\w*s)/.test(line)

/** The groups whose members may become root. */
const ADMIN_GROUPS = /(?:^|[ ,])(?:sudo|wheel|root|admin|docker|lxd|disk|shadow)(?:$|[ ,])/

const CONNECTS: readonly Rule[] = [{ kind: 'opens_connection' }]
const ENABLES: readonly Rule[] = [
  { kind: 'enables_unit', when: has(/(?:^| )(?:enable|reenable|preset|unmask|add|defaults|on|link)(?: |$)|--add/) },
]
const FIREWALL: readonly Rule[] = [
  { kind: 'disables_security', when: has(/^disable\b|(?:^| )(?:-F|--flush|flush ruleset)(?: |$)/) },
  {
    kind: 'changes_firewall',
    when: hasNot(/(?:^| )(?:-L|-S|-V|--list\S*|--state|--version|--get\S*|--query\S*|status|list|-nvL|-nL)(?: |$)/),
  },
]
const ACCOUNTS: readonly Rule[] = [
  {
    kind: 'changes_passwords',
    when: has(
      /(?:^| )(?:-[a-z]*o[a-z]* .*-[a-z]*u *0(?: |$)|-u *0 .*-o(?: |$)|--uid[= ]0(?: |$)|-p +\S|--password[= ])/,
    ),
  },
  {
    kind: 'changes_sudoers',
    when: called =>
      ADMIN_GROUPS.test(called.line) && /(?:^| )(?:-a?G|-a|--groups?|--append|-Ga|-aG)(?: |$|=)/.test(called.line),
  },
  { kind: 'adds_user' },
]
const INSTALLS: readonly Rule[] = [
  {
    kind: 'installs_packages',
    when: has(/(?:^| )(?:install|add|i|-S|localinstall|in|get|update|upgrade|dist-upgrade|reinstall|ci|exec)(?: |$)/),
  },
]
const PROTECTIONS = /(?:apparmor|auditd|firewalld|ufw|nftables|iptables|selinux|clamav|falcon|fail2ban|ossec|wazuh)/

/** What calling a program means. Of several rules the first that holds counts. */
const RULES: Readonly<Record<string, readonly Rule[]>> = {
  'crontab': [{ kind: 'changes_cron', when: hasNot(/^(?:-u +\S+ +)?(?:-l|-r)(?: |$)|^-[lr] /) }],
  'at': [{ kind: 'changes_cron' }],
  'batch': [{ kind: 'changes_cron' }],
  'systemd-run': [{ kind: 'changes_cron', when: has(/--(?:on-|timer)/) }],
  'chmod': [{ kind: 'sets_privileges', when: isSetuid }],
  'install': [{ kind: 'sets_privileges', when: isInstalledSetuid }],
  'dpkg-statoverride': [
    {
      kind: 'sets_privileges',
      when: called => /--add/.test(called.line) && called.texts.some(text => /^0?[4-7][0-7]{3}$/.test(text)),
    },
  ],
  'setcap': [{ kind: 'sets_privileges', when: hasNot(/^(?:-v|-r|-q -r)(?: |$)/) }],
  'ssh-copy-id': [{ kind: 'changes_ssh' }],
  'useradd': ACCOUNTS,
  'adduser': [
    {
      kind: 'changes_sudoers',
      when: ({ texts }) => texts.length === 2 && ADMIN_GROUPS.test(texts[1] ?? '') && !/^-/.test(texts[0] ?? '-'),
    },
    ...ACCOUNTS,
  ],
  'usermod': ACCOUNTS,
  'groupadd': [{ kind: 'adds_user' }],
  'addgroup': [{ kind: 'adds_user' }],
  'groupmod': [{ kind: 'adds_user' }],
  'gpasswd': [
    { kind: 'changes_sudoers', when: has(/(?:^| )(?:sudo|wheel|root|admin|docker|lxd)$/) },
    { kind: 'adds_user' },
  ],
  'systemd-sysusers': [{ kind: 'adds_user' }],
  'chpasswd': [{ kind: 'changes_passwords' }],
  'newusers': [{ kind: 'changes_passwords' }],
  'passwd': [{ kind: 'changes_passwords', when: has(/(?:^| )(?:-[a-z]*d|--delete|--stdin|-u|--unlock)(?: |$)/) }],
  'update-rc.d': ENABLES,
  'chkconfig': ENABLES,
  'rc-update': ENABLES,
  'deb-systemd-helper': ENABLES,
  'systemctl': [
    {
      kind: 'disables_security',
      when: called => /(?:^| )(?:stop|disable|mask|kill)(?: |$)/.test(called.line) && PROTECTIONS.test(called.line),
    },
    { kind: 'enables_unit', when: has(/(?:^| )(?:enable|reenable|preset|preset-all|unmask|link|add-wants)(?: |$)/) },
    {
      kind: 'starts_service',
      when: has(
        /(?:^| )(?:start|restart|reload|try-restart|reload-or-restart|condrestart|isolate|reload-or-try-restart|try-reload-or-restart)(?: |$)/,
      ),
    },
  ],
  'setenforce': [{ kind: 'disables_security', when: has(/^(?:0|permissive)$/i) }],
  'aa-disable': [{ kind: 'disables_security' }],
  'aa-teardown': [{ kind: 'disables_security' }],
  'auditctl': [{ kind: 'disables_security', when: has(/(?:^| )(?:-D|-e +0)(?: |$)/) }],
  'service': [{ kind: 'starts_service', when: has(/ (?:start|restart|reload)\b/) }],
  'rc-service': [{ kind: 'starts_service', when: has(/ (?:start|restart|reload)\b/) }],
  'invoke-rc.d': [{ kind: 'starts_service', when: has(/ (?:start|restart|reload|force-reload)\b/) }],
  'deb-systemd-invoke': [{ kind: 'starts_service', when: has(/(?:^| )(?:start|restart|reload)\b/) }],
  'start-stop-daemon': [{ kind: 'starts_service', when: has(/--start|(?:^| )-S(?: |$)/) }],
  'pam-auth-update': [{ kind: 'adds_pam_profile' }],
  'authselect': [{ kind: 'adds_pam_profile' }],
  'modprobe': [{ kind: 'loads_kernel_module', when: hasNot(/^-[rcn]/) }],
  'insmod': [{ kind: 'loads_kernel_module' }],
  'dkms': [{ kind: 'loads_kernel_module', when: has(/^(?:add|build|install|autoinstall)/) }],
  'iptables': FIREWALL,
  'ip6tables': FIREWALL,
  'iptables-restore': FIREWALL,
  'nft': FIREWALL,
  'ufw': FIREWALL,
  'firewall-cmd': FIREWALL,
  'apt-key': [{ kind: 'changes_package_sources', when: has(/(?:^| )(?:add|adv)(?: |$)/) }],
  'add-apt-repository': [{ kind: 'changes_package_sources' }],
  'rpm': [
    { kind: 'changes_package_sources', when: has(/--import/) },
    { kind: 'installs_packages', when: has(/^-[a-z]*[iUF][a-z]* |--install|--upgrade/) },
  ],
  'rpmkeys': [{ kind: 'changes_package_sources', when: has(/--import|-i/) }],
  'zypper': [{ kind: 'changes_package_sources', when: has(/(?:^| )(?:ar|addrepo)(?: |$)/) }, ...INSTALLS],
  'yum-config-manager': [{ kind: 'changes_package_sources' }],
  'apt-get': INSTALLS,
  'apt': INSTALLS,
  'aptitude': INSTALLS,
  'dpkg': [{ kind: 'installs_packages', when: has(/(?:^| )(?:-i|--install|--unpack)(?: |$)/) }],
  'dnf': INSTALLS,
  'yum': INSTALLS,
  'apk': INSTALLS,
  'pip': INSTALLS,
  'pip3': INSTALLS,
  'npm': INSTALLS,
  'npx': [{ kind: 'installs_packages' }],
  'yarn': INSTALLS,
  'gem': INSTALLS,
  'cpan': [{ kind: 'installs_packages' }],
  'cargo': INSTALLS,
  'go': INSTALLS,
  'snap': INSTALLS,
  'flatpak': INSTALLS,
  'nc': CONNECTS,
  'ncat': CONNECTS,
  'netcat': CONNECTS,
  'socat': CONNECTS,
  'telnet': CONNECTS,
  'ssh': CONNECTS,
  'scp': CONNECTS,
  'sftp': CONNECTS,
  'nsupdate': CONNECTS,
}

/** What calling a program with these arguments means; undefined where it means nothing. */
export function kindOfCommand(name: string, texts: readonly string[]): InstallFactKind | undefined {
  const rules = Object.hasOwn(RULES, name) ? RULES[name] : undefined
  const called = { texts, line: texts.join(' ') }
  return rules?.find(({ when }) => when === undefined || when(called))?.kind
}
