import { findText, type Ports } from '../ports.ts'
import { parseShown } from '../verbs/services.ts'
import { bad, some, unknown, warning, type Finding } from './finding.ts'

/** What provision.sh enables, one a line. */
const UNITS = '/usr/lib/gatehouse/units'
/** Of systemd-analyze security. */
const MOST_EXPOSURE = 2

/** Whether everything of ours is enabled, and nothing failed. */
export async function lookAtUnits(ports: Ports): Promise<Finding[]> {
  const units = ((await findText(ports, UNITS)) ?? '').split(/\s+/).filter(Boolean)
  if (units.length === 0)
    return [
      unknown(
        'Units',
        `${UNITS} is not there, so nobody knows which units there should be.`,
        'Run provision.sh again.',
      ),
    ]
  const [ours, failed] = await Promise.all([
    ports.run('systemctl', ['show', '--property=Id,Names,LoadState,UnitFileState', ...units]),
    ports.run('systemctl', ['list-units', '--state=failed', '--plain', '--no-legend', '--no-pager']),
  ])
  if (ours.code !== 0 && ours.out === '') return [unknown('Units', 'systemd does not answer.', 'Restart this machine.')]
  const off = [...parseShown(ours.out).values()].filter(
    ({ UnitFileState: state = '' }) => !['enabled', 'enabled-runtime', 'static', 'alias', 'linked'].includes(state),
  )
  const lost = failed.out.split('\n').flatMap(line => line.trim().split(/\s+/)[0] || [])
  // a container has no root file system of its own to remount
  const broken = lost.filter(unit => unit !== 'systemd-remount-fs.service')
  return [
    ...off.map(({ Id: unit = '', UnitFileState: state = '' }) =>
      bad(
        'Units',
        state === ''
          ? `${unit} is not installed.`
          : state === 'disabled'
            ? `${unit} is disabled.`
            : `${unit} is in the state ${state}.`,
        `systemctl enable --now ${unit}`,
      ),
    ),
    ...broken.map(unit => bad('Units', `${unit} failed.`, `journalctl -u ${unit} says why.`)),
  ]
}

/** Whether the services are held as tightly as they were delivered. */
export async function lookAtHardening(ports: Ports): Promise<Finding[]> {
  const units = ((await findText(ports, UNITS)) ?? '')
    .split(/\s+/)
    .filter(unit => unit.endsWith('.service') && !NOT_RATED.includes(unit))
  if (units.length === 0) return []
  // one unit that is not loaded must not hide the others
  const asked = units.map(async unit => {
    const { out } = await ports.run('systemd-analyze', ['security', '--no-pager', unit])
    const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(out)?.[1] ?? NaN)
    return { unit, exposure }
  })
  const rated = await Promise.all(asked)
  const loose = rated.filter(({ exposure }) => exposure > MOST_EXPOSURE)
  const silent = rated.filter(({ exposure }) => Number.isNaN(exposure))
  return [
    ...loose.map(({ unit, exposure }) =>
      warning(
        'Hardening',
        `${unit} is at ${exposure} of systemd-analyze security, and was delivered with ${MOST_EXPOSURE} at most.`,
        `systemctl cat ${unit} shows which file loosened it.`,
      ),
    ),
    ...(silent.length === 0
      ? []
      : [
          unknown(
            'Hardening',
            `systemd does not rate ${some(silent.map(({ unit }) => unit))}.`,
            'systemctl daemon-reload, and look again.',
          ),
        ]),
  ]
}
/** Root by their nature: what changes the machine, and what sets it back. AppArmor's unit is Debian's. */
const NOT_RATED = ['gatehouse-machine.service', 'gatehouse-reset.service', 'apparmor.service']

const RULES = '/usr/share/gatehouse/firewall.nft'
// loads the rules in a network of its own, where they hurt nobody, and prints them as nftables writes them
const LOAD = 'nft -f "$1" && nft list table inet gatehouse'
const plain = (rules: string): string => rules.replaceAll(/counter packets \d+ bytes \d+/g, 'counter').trim()

/** Whether the rules that hold are those in the files. */
export async function lookAtFirewall(ports: Ports): Promise<Finding[]> {
  const [loaded, wanted] = await Promise.all([
    ports.run('nft', ['list', 'table', 'inet', 'gatehouse']),
    ports.run('unshare', ['--net', 'sh', '-c', LOAD, 'sh', RULES]),
  ])
  if (loaded.code === null)
    return [
      unknown(
        'Firewall',
        `What is loaded cannot be told: ${loaded.err}.`,
        'apt-get install nftables, where it is missing',
      ),
    ]
  if (loaded.code !== 0)
    return [bad('Firewall', 'Its rules are not loaded, so every port is open.', 'systemctl restart gatehouse-firewall')]
  if (wanted.code !== 0) {
    const why = wanted.err.trim().split('\n').at(-1) ?? ''
    return [
      unknown(
        'Firewall',
        `What should be loaded cannot be told: ${why}`,
        'Look at the files in /etc/gatehouse/firewall.d.',
      ),
    ]
  }
  if (plain(loaded.out) === plain(wanted.out)) return []
  return [
    bad(
      'Firewall',
      'The rules that hold are not those in its files.',
      'systemctl reload gatehouse-firewall loads them again.',
    ),
  ]
}

/** Where SSH is switched on, it takes keys alone. */
export async function lookAtSsh(ports: Ports): Promise<Finding[]> {
  const active = await ports.run('systemctl', ['is-active', 'ssh.service', 'ssh.socket'])
  if (!active.out.split('\n').includes('active')) return []
  const { code, out } = await ports.run('sshd', ['-T'])
  if (code !== 0) return [unknown('SSH', 'sshd does not say how it is set.', 'sshd -T says why.')]
  const is = (line: string): boolean => out.split('\n').includes(line)
  const said = [
    ...(is('passwordauthentication no') ? [] : ['It takes passwords.']),
    ...(is('kbdinteractiveauthentication no') ? [] : ['It asks for passwords.']),
    ...(is('permitrootlogin yes') ? ['It lets root in with a password.'] : []),
    ...(is('permitemptypasswords yes') ? ['It takes empty passwords.'] : []),
  ]
  if (said.length === 0) return []
  return [
    bad(
      'SSH',
      said.join(' '),
      'Look for what comes before /etc/ssh/sshd_config.d/gatehouse.conf, then systemctl reload ssh.',
    ),
  ]
}

/** journald keeps what it may, and no more. */
export async function lookAtJournal(ports: Ports): Promise<Finding[]> {
  const { code, out } = await ports.run('systemd-analyze', ['--no-pager', 'cat-config', 'systemd/journald.conf'])
  if (code !== 0)
    return [
      unknown('Logs', 'How much journald may keep cannot be read.', 'systemd-analyze cat-config systemd/journald.conf'),
    ]
  // the last one counts
  const set = Object.fromEntries([...out.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]))
  const wrong = Object.entries({ Storage: 'persistent', SystemMaxUse: '500M', SystemKeepFree: '1G' }).filter(
    ([key, value]) => set[key] !== value,
  )
  return wrong.map(([key, value]) =>
    warning(
      'Logs',
      `journald has ${key}=${set[key] ?? '(nothing)'} in place of ${value}.`,
      'Look at /etc/systemd/journald.conf.d, then systemctl restart systemd-journald.',
    ),
  )
}

const PROFILES = ['gatehouse', 'gatehouse-clamd', 'gatehouse-freshclam', 'gatehouse-log']

/** AppArmor holds the daemon and clamd, and does not only complain. */
export async function lookAtAppArmor(ports: Ports): Promise<Finding[]> {
  if ((await findText(ports, '/sys/module/apparmor/parameters/enabled'))?.trim() !== 'Y')
    return [
      warning(
        'AppArmor',
        'This kernel does not have it, so the services are held by their units alone.',
        'Start with a kernel of Debian; a container has that of its host.',
      ),
    ]
  const text = await findText(ports, '/sys/kernel/security/apparmor/profiles')
  if (text === undefined)
    return [unknown('AppArmor', 'Its profiles cannot be read.', 'mount -t securityfs securityfs /sys/kernel/security')]
  const loaded = new Map([...text.matchAll(/^(\S+) \((\w+)\)$/gm)].map(([, name = '', mode = '']) => [name, mode]))
  return PROFILES.filter(name => loaded.get(name) !== 'enforce').map(name =>
    bad(
      'AppArmor',
      loaded.has(name) ? `${name} only complains.` : `${name} is not loaded.`,
      'apparmor_parser --replace /etc/apparmor.d/gatehouse, then restart its service.',
    ),
  )
}
