import type { DistributionCard } from './wire.ts'

/**
 * What a client types once, made from the line that the server gave. The server knows its own address; the shell
 * commands around the line are the package manager's.
 */
export function clientCommands({ format, client_line: line }: Pick<DistributionCard, 'format' | 'client_line'>): string[] {
  const url = /https?:\/\/[^\s/]+/.exec(line)?.[0] ?? location.origin
  if (format === 'deb') {
    return [
      'sudo install -d -m 0755 /etc/apt/keyrings',
      `curl -fsSL ${url}/repos/gpg.key | sudo tee /etc/apt/keyrings/gatehouse.asc > /dev/null`,
      `echo "${line}" | sudo tee /etc/apt/sources.list.d/gatehouse.list > /dev/null`,
      'sudo apt-get update',
    ]
  }
  if (format === 'rpm') {
    return [
      `sudo rpm --import ${url}/repos/gpg.key`,
      `printf '[gatehouse]\\nname=Gatehouse\\n${line}\\nenabled=1\\ngpgcheck=0\\nrepo_gpgcheck=1\\ngpgkey=${url}/repos/gpg.key\\n' | sudo tee /etc/yum.repos.d/gatehouse.repo > /dev/null`,
    ]
  }
  return [`echo "${line}" | sudo tee -a /etc/apk/repositories > /dev/null`, 'sudo apk update']
}
