const OS_RELEASE = {
  deb: ['PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"', 'VERSION_ID="12"', 'VERSION_CODENAME=bookworm', 'ID=debian'],
  rpm: ['PRETTY_NAME="AlmaLinux 9.4 (Seafoam Ocelot)"', 'VERSION_ID="9.4"', 'ID="almalinux"'],
  apk: ["PRETTY_NAME='Alpine Linux v3.20'", 'VERSION_ID=3.20.3', 'ID=alpine'],
} as const

/** What a machine would tell: a report as the collecting script prints it. */
export function report({
  lines,
  format = 'deb',
  hostname = 'plc-gw-07',
  osRelease = OS_RELEASE[format],
  reboot = [],
}: {
  readonly lines: readonly string[]
  readonly format?: 'deb' | 'rpm' | 'apk'
  readonly hostname?: string
  readonly osRelease?: readonly string[]
  readonly reboot?: readonly string[]
}): string {
  return [
    '==> gatehouse 1',
    '==> hostname',
    hostname,
    '==> os-release',
    ...osRelease,
    '==> kernel',
    '6.1.0-21-amd64',
    '==> uptime',
    '3600.50 7000.00',
    '==> reboot',
    ...reboot,
    `==> packages ${format}`,
    ...lines,
    '==> end',
    '',
  ].join('\n')
}

/** A line of dpkg's list. */
export const dpkgLine = (name: string, version: string, { arch = 'amd64', source = name } = {}): string =>
  `ii \t${name}\t${version}\t${arch}\t${source}\t${version}`
