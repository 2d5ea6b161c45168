/** Names of Linux capabilities by their bits. Source: capabilities(7), linux/capability.h */
const NAMES =
  'chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore'.split(
    ' ',
  )

/** The attribute `security.capability` in words: `cap_net_raw`. Source: linux/capability.h, struct vfs_cap_data */
export function printCapabilities(attribute: Buffer): string {
  if (attribute.length < 12) return 'unreadable capabilities'
  const low = attribute.readUInt32LE(4)
  const high = attribute.length >= 20 ? attribute.readUInt32LE(12) : 0
  const names = NAMES.filter((_, n) => ((n < 32 ? low >>> n : high >>> (n - 32)) & 1) === 1)
  return names.length === 0 ? 'no capability' : names.map(name => `cap_${name}`).join(',')
}
