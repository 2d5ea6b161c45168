import type { Action } from './action.ts'

interface Meaning {
  /** `script`: the fact is in a script that runs at installation. `file`: in the list of files. */
  readonly of: 'script' | 'file'
  /** Behind the name of the script or file: `postinst runs what it downloads`, `usr/bin/su is a setuid program`. */
  readonly said: string
  /** The action by default. docs/contents.md says how often each stands in packages of Debian. */
  readonly action: Action
}

/** What a package may do to a machine when it is installed, beyond putting plain files in their places. */
export const INSTALL_FACTS = {
  downloads_and_runs: { of: 'script', said: 'runs what it downloads', action: 'review' },
  runs_encoded: { of: 'script', said: 'runs what it decodes', action: 'review' },
  opens_connection: { of: 'script', said: 'opens a connection', action: 'review' },
  sends_data: { of: 'script', said: 'sends data to a host', action: 'review' },
  changes_preload: { of: 'script', said: 'sets what every program has to load (LD_PRELOAD)', action: 'review' },
  changes_ssh: { of: 'script', said: 'changes who may log in by SSH', action: 'review' },
  changes_sudoers: { of: 'script', said: 'changes who may become root', action: 'review' },
  changes_passwords: { of: 'script', said: 'changes accounts or passwords by hand', action: 'review' },
  disables_security: { of: 'script', said: 'switches a protection off', action: 'review' },
  deletes_outside: { of: 'script', said: 'deletes folders of the system', action: 'review' },
  unreadable_script: { of: 'script', said: 'could not be read', action: 'review' },
  downloads: { of: 'script', said: 'downloads something', action: 'warn' },
  installs_packages: { of: 'script', said: 'installs further software', action: 'warn' },
  changes_package_sources: { of: 'script', said: 'changes where packages come from', action: 'warn' },
  changes_cron: { of: 'script', said: 'sets up a cron job', action: 'warn' },
  changes_pam: { of: 'script', said: 'changes how people log in (PAM)', action: 'warn' },
  changes_shell_profile: { of: 'script', said: 'changes what shells run at their start', action: 'warn' },
  changes_resolution: { of: 'script', said: 'changes how names are resolved', action: 'warn' },
  changes_firewall: { of: 'script', said: 'changes the firewall', action: 'warn' },
  sets_privileges: { of: 'script', said: 'makes a program setuid or gives it capabilities', action: 'warn' },
  writes_unit: { of: 'script', said: 'writes a service that the package does not contain', action: 'warn' },
  deletes_by_variable: { of: 'script', said: 'deletes a folder that a variable names', action: 'allow' },
  loads_kernel_module: { of: 'script', said: 'builds or loads a kernel module', action: 'allow' },
  enables_unit: { of: 'script', said: 'enables a service', action: 'allow' },
  starts_service: { of: 'script', said: 'starts or restarts a service', action: 'allow' },
  adds_user: { of: 'script', said: 'adds or changes accounts', action: 'allow' },
  adds_pam_profile: { of: 'script', said: 'registers a PAM profile', action: 'allow' },
  npm_install_script: { of: 'script', said: 'has a script that npm runs', action: 'allow' },
  has_trigger: { of: 'script', said: 'runs when other packages change', action: 'allow' },
  preload_file: { of: 'file', said: 'is loaded into every program', action: 'review' },
  ssh_key_file: { of: 'file', said: 'lets keys log in by SSH', action: 'review' },
  device_file: { of: 'file', said: 'is a device', action: 'warn' },
  sudoers_file: { of: 'file', said: 'says who may become root', action: 'warn' },
  package_source_file: { of: 'file', said: 'says where packages come from, or whom to trust', action: 'warn' },
  world_writable_file: { of: 'file', said: 'may be written by everybody', action: 'warn' },
  setuid_file: { of: 'file', said: 'is a setuid program', action: 'allow' },
  setgid_file: { of: 'file', said: 'is a setgid program', action: 'allow' },
  capability_file: { of: 'file', said: 'has capabilities', action: 'allow' },
  cron_file: { of: 'file', said: 'is a cron job', action: 'allow' },
  unit_file: { of: 'file', said: 'is a systemd unit', action: 'allow' },
  init_script_file: { of: 'file', said: 'is an init script', action: 'allow' },
  profile_file: { of: 'file', said: 'is run by shells at their start', action: 'allow' },
  pam_file: { of: 'file', said: 'says how people log in (PAM)', action: 'allow' },
  polkit_file: { of: 'file', said: 'says who may do what as root (polkit)', action: 'allow' },
  dbus_service_file: { of: 'file', said: 'is a service on the system bus', action: 'allow' },
  ssh_config_file: { of: 'file', said: 'configures SSH', action: 'allow' },
  udev_rule_file: { of: 'file', said: 'is a rule for devices (udev)', action: 'allow' },
  kernel_module_file: { of: 'file', said: 'is a kernel module, or says which are loaded', action: 'allow' },
  library_path_file: { of: 'file', said: 'says where libraries are looked for', action: 'allow' },
  autostart_file: { of: 'file', said: 'starts with the desktop', action: 'allow' },
} as const satisfies Readonly<Record<string, Meaning>>

export type InstallFactKind = keyof typeof INSTALL_FACTS
export const INSTALL_FACT_KINDS = Object.keys(INSTALL_FACTS) as readonly InstallFactKind[]

/** One thing that a script of a package does, or that its list of files says. */
export interface InstallFact {
  readonly kind: InstallFactKind
  /** The script (`postinst`, `post`, `.post-install`) or the file, from the root of the package. */
  readonly path: string
  /** Of a script, counted from 1. */
  readonly line?: number
  /** The command, or what the file says of itself; cut, without control characters. */
  readonly text?: string
  /** Hosts that are contacted, with the port where it is said: `example.com`, `10.0.0.5:4444`. */
  readonly hosts?: readonly string[]
  /** Where a unit listens: `22`, `/run/docker.sock`. */
  readonly listens?: readonly string[]
}

/** A script that runs when the package is installed, upgraded or removed. */
export interface InstallScript {
  readonly name: string
  /** `/bin/sh`, `<lua>`. */
  readonly interpreter: string
  readonly lines: number
  readonly sha256: string
}

/** Everything that installing a package does, as far as its scripts and its list of files say so. */
export interface InstallRecord {
  readonly scripts: readonly InstallScript[]
  readonly facts: readonly InstallFact[]
  /** How many facts there are beyond those in `facts`. */
  readonly more?: number
}

/** The action for each kind; one that is not named has its default. */
export type ScriptPolicy = Readonly<Partial<Record<InstallFactKind, Action>>>

/** What the policy does about one kind. */
export const actionForKind = (kind: InstallFactKind, policy: ScriptPolicy | undefined): Action =>
  // a later release may know more kinds
  policy?.[kind] ?? (INSTALL_FACTS[kind] as Meaning | undefined)?.action ?? 'warn'

/** `postinst runs what it downloads`, without a full stop. */
export const nameFact = ({ kind, path }: Pick<InstallFact, 'kind' | 'path'>): string =>
  `${path} ${(INSTALL_FACTS[kind] as Meaning | undefined)?.said ?? kind}`

/** Kinds that a policy looks at first come first; then by place. */
export const byKind = (a: InstallFact, b: InstallFact): number =>
  INSTALL_FACT_KINDS.indexOf(a.kind) - INSTALL_FACT_KINDS.indexOf(b.kind) ||
  (a.path < b.path ? -1 : a.path > b.path ? 1 : (a.line ?? 0) - (b.line ?? 0))

/** `postinst runs what it downloads (line 12: curl … | sh)`, without a full stop. */
export function sayFact(fact: InstallFact): string {
  const { line } = fact
  const text = fact.text?.replace(/\.$/, '')
  const where = line === undefined ? text : `line ${line}${text === undefined ? '' : `: ${text}`}`
  return `${nameFact(fact)}${where === undefined ? '' : ` (${where})`}`
}
