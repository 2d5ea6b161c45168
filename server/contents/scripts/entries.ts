import type { InstallFact, InstallFactKind } from '../../core/install-facts.ts'
import type { EntryFacts } from '../reader.ts'
import { showLine } from './scan-script.ts'

/** Where a file has a meaning by its place alone. Of several rows the first counts. */
const PLACES: readonly (readonly [RegExp, InstallFactKind])[] = [
  [/^etc\/ld\.so\.preload$/, 'preload_file'],
  // sshd(8), AUTHORIZED_KEYS FILE FORMAT, and dropbear(8): elsewhere nothing reads a file of that name
  [
    /^(?:root|home\/[^/]+)\/\.ssh\/|(?:^|\/)\.ssh\/authorized_keys2?$|^etc\/(?:ssh\/authorized_keys\/|(?:ssh|dropbear)\/authorized_keys2?$)/,
    'ssh_key_file',
  ],
  [/^(?:usr\/)?etc\/sudoers(?:$|\.d\/.)|^etc\/doas(?:\.conf$|\.d\/.)/, 'sudoers_file'],
  [
    /^etc\/apt\/(?:sources\.list|trusted\.gpg|keyrings\/.)|^usr\/share\/keyrings\/.|^etc\/(?:yum\.repos\.d|zypp\/repos\.d|pki\/rpm-gpg)\/.|^etc\/apk\/(?:repositories|keys\/.)/,
    'package_source_file',
  ],
  [
    /^etc\/cron(?:tab$|\.(?:d|hourly|daily|weekly|monthly)\/[^.])|^var\/spool\/cron\/.|^etc\/periodic\/|^etc\/anacrontab$/,
    'cron_file',
  ],
  [
    /^(?:usr\/)?(?:lib|etc)\/systemd\/(?:system|user)\/.+\.(?:service|socket|timer|path|mount|automount|conf)$/,
    'unit_file',
  ],
  [/^(?:usr\/)?lib\/systemd\/system-(?:generators|shutdown|sleep)\/./, 'unit_file'],
  [/^etc\/(?:init\.d|rc\d\.d|rc\.d\/init\.d)\/[^/]+$|^etc\/init\/[^/]+\.conf$|^etc\/rc\.local$/, 'init_script_file'],
  [
    /^etc\/(?:profile$|profile\.d\/.|bash\.bashrc$|bashrc$|zsh\/|environment$|environment\.d\/)|^(?:usr\/)?lib\/environment\.d\//,
    'profile_file',
  ],
  [
    /^(?:etc|usr\/lib)\/pam\.d\/.|^usr\/share\/pam-configs\/.|^(?:usr\/)?lib\/(?:[^/]+\/)?security\/pam_[^/]+\.so$/,
    'pam_file',
  ],
  [/^(?:etc|usr\/share)\/polkit-1\/(?:rules\.d|actions|localauthority)\/./, 'polkit_file'],
  [/^(?:etc|usr\/share)\/dbus-1\/(?:system\.d|system-services)\/./, 'dbus_service_file'],
  [/^etc\/ssh\/(?:sshd?_config$|sshd?_config\.d\/.)/, 'ssh_config_file'],
  [/^(?:etc|(?:usr\/)?lib)\/udev\/rules\.d\/./, 'udev_rule_file'],
  [
    /^(?:usr\/)?lib\/modules\/.+\.ko(?:\.(?:xz|zst|gz))?$|^(?:etc|(?:usr\/)?lib)\/(?:modules-load|modprobe)\.d\/./,
    'kernel_module_file',
  ],
  [/^etc\/ld\.so\.conf(?:$|\.d\/.)/, 'library_path_file'],
  [/^etc\/xdg\/autostart\/./, 'autostart_file'],
]

const SETUID = 0o4000
const SETGID = 0o2000
const STICKY = 0o1000
const WRITABLE = 0o002
const ANY_EXECUTABLE = 0o111

/** Kernel modules come by the thousand: the first of each package says enough. */
export const ONCE: ReadonlySet<InstallFactKind> = new Set(['kernel_module_file'])

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, '0')

/** What the place and the mode of a file of a package say. @param path  from the root of the package */
export function entryFacts(path: string, { type, mode, link, capabilities }: EntryFacts): InstallFact[] {
  const facts: InstallFact[] = []
  const add = (kind: InstallFactKind, text?: string): void => {
    facts.push({ kind, path, ...(text === undefined || text === '' ? {} : { text: showLine(text) }) })
  }
  if (type === 'char' || type === 'block') {
    add('device_file', `${type === 'char' ? 'character' : 'block'} device`)
    return facts
  }
  if (type === 'directory') {
    if (mode !== undefined && (mode & WRITABLE) !== 0 && (mode & STICKY) === 0)
      add('world_writable_file', `folder, mode ${octal(mode)}`)
    return facts
  }
  const place = PLACES.find(([pattern]) => pattern.test(path))?.[1]
  if (place !== undefined) add(place, type === 'symlink' || type === 'hardlink' ? `link to ${link ?? ''}` : undefined)
  if (mode === undefined || type === 'symlink') return facts
  if ((mode & SETUID) !== 0) add('setuid_file', `mode ${octal(mode)}`)
  // without a bit to run it, setgid meant mandatory locks
  else if ((mode & SETGID) !== 0 && (mode & ANY_EXECUTABLE) !== 0) add('setgid_file', `mode ${octal(mode)}`)
  if ((mode & WRITABLE) !== 0) add('world_writable_file', `mode ${octal(mode)}`)
  if (capabilities !== undefined) add('capability_file', capabilities)
  return facts
}
