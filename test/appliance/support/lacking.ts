import { spawnSync } from 'node:child_process'
import { lackingTools } from '../../../appliance/lacking-tools.ts'

/** Program → the Debian package that has it. */
const NEEDED = {
  'mmdebstrap': 'mmdebstrap',
  'systemd-nspawn': 'systemd-container',
  'systemd-analyze': 'systemd',
  'unshare': 'util-linux',
  'ip': 'iproute2',
  'zstd': 'zstd',
  'curl': 'curl',
  'script': 'bsdutils',
}

/** Namespaces and mounts, as root: many containers allow none. */
function mayUnshare(): boolean {
  const tried = spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'mount', '-t', 'tmpfs', 'none', '/mnt'])
  return process.getuid?.() === 0 && tried.status === 0
}

/** Why no appliance can be made or booted here; undefined where it can. */
export function whyNot(): string | undefined {
  const missing = lackingTools(NEEDED)
  if (missing.length > 0) return `needs ${missing.join(', ')}`
  if (process.arch !== 'x64') return `needs a machine with x86_64, this is ${process.arch}`
  return mayUnshare() ? undefined : 'needs root, with namespaces and mounts'
}
