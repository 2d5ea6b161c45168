import type { InstallFactKind } from '../../core/install-facts.ts'

/** What it means that a script writes to a place. Of several rows the first counts. */
const PLACES: readonly (readonly [RegExp, InstallFactKind])[] = [
  [/^\/etc\/ld\.so\.preload$/, 'changes_preload'],
  [/(?:^|\/)authorized_keys2?$|\/\.ssh\/|^\/etc\/ssh\/sshd_config/, 'changes_ssh'],
  [/^\/etc\/sudoers(?:$|\.d\/|\.)|^\/etc\/doas/, 'changes_sudoers'],
  [/^\/etc\/g?(?:passwd|shadow|group)-?$/, 'changes_passwords'],
  [/^\/etc\/pam\.(?:d\/|conf$)|^\/etc\/security\//, 'changes_pam'],
  [/^\/etc\/cron(?:tab$|\.)|^\/var\/spool\/cron(?:$|\/)|^\/etc\/anacrontab$|^\/etc\/periodic\//, 'changes_cron'],
  [
    /^\/etc\/apt\/(?:sources\.list|trusted\.gpg|keyrings|preferences|auth\.conf)|^\/usr\/share\/keyrings\/|^\/etc\/(?:yum\.repos\.d|zypp\/repos\.d|pki\/rpm-gpg)\/|^\/etc\/apk\/(?:repositories|keys)/,
    'changes_package_sources',
  ],
  [
    /^\/etc\/(?:profile(?:$|\.d\/)|bash\.bashrc$|bashrc$|environment$|zsh)|\/\.(?:bashrc|bash_profile|profile|zshrc|zprofile|bash_login)$/,
    'changes_shell_profile',
  ],
  [
    /\/systemd\/(?:system|user)\/.|^\/etc\/init\.d\/.|^\/etc\/rc\.local$|^\/etc\/inittab$|^\/etc\/init\/[^/]+\.conf$|\/systemd\/system-generators\//,
    'writes_unit',
  ],
  [/^\/etc\/(?:hosts|resolv\.conf|nsswitch\.conf)$/, 'changes_resolution'],
  [/^\/etc\/(?:iptables|nftables|ufw|firewalld)(?:\/|\.)/, 'changes_firewall'],
  [/^\/etc\/(?:modules$|modules-load\.d\/|modprobe\.d\/)/, 'loads_kernel_module'],
]

/** A path without the variable of another root before it: `$DPKG_ROOT/etc/passwd`, `${DESTDIR}/etc`. */
export const withoutRoot = (path: string): string =>
  path.replace(/^\$(?:\w+|\{[^}]{0,80}\})(?=\/(?:etc|usr|lib|var|run|root|home|boot)\b)/, '')

/** What writing to this path means; undefined where it means nothing. */
export function kindOfWritten(path: string): InstallFactKind | undefined {
  const plain = withoutRoot(path)
  return PLACES.find(([place]) => place.test(plain))?.[1]
}

/** Folders that belong to all packages, or to people: never to be deleted as a whole. */
const SYSTEM =
  /^\/(?:\*|(?:bin|boot|dev|etc|home|lib|lib32|lib64|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)(?:\/\*?)?|(?:usr|var)\/(?:bin|lib|lib64|libexec|sbin|share|local|include|log|cache|spool|tmp|www|mail|backups)(?:\/\*?)?|home\/(?:\*|[^/]*\*)\/?)?$|^(?:~|\$HOME|\$\{HOME\})(?:\/\*?)?$/

/** What deleting a path with all that is in it means. */
export function kindOfDeleted(path: string): 'deletes_outside' | 'deletes_by_variable' | undefined {
  if (SYSTEM.test(withoutRoot(path))) return 'deletes_outside'
  return path.startsWith('$') ? 'deletes_by_variable' : undefined
}
