import type { Ports, Ran, RunOptions } from './ports.ts'
import { must } from './ports.ts'

const CURRENT = '/opt/gatehouse/current'
const FILES = [`${CURRENT}/release`, '/etc/gatehouse/secrets', '-/etc/gatehouse/environment']

/** The words of a list as systemd prints it: one with a special character is in quotation marks. */
export const wordsOf = (list: string): string[] =>
  [...list.matchAll(/"((?:\\.|[^"\\])*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '',
  )

/** Runs a program of the bundle as the daemon's user with the daemon's environment: `admin`, `restore`. */
export async function runAsDaemon(
  ports: Ports,
  program: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<Ran> {
  const environment = await must(ports, 'systemctl', ['show', '--property=Environment', '--value', 'gatehouse.service'])
  return ports.run(
    'systemd-run',
    [
      ...['--quiet', '--wait', '--pipe', '--collect', '--uid=gatehouse', '--property=UMask=0027'],
      ...['--property=NoNewPrivileges=yes', '--property=ProtectSystem=full', '--working-directory=/var/lib/gatehouse'],
      ...wordsOf(environment).map(one => `--setenv=${one}`),
      ...FILES.map(file => `--property=EnvironmentFile=${file}`),
      ...[`${CURRENT}/bin/node`, `${CURRENT}/server/${program}.mjs`, ...args],
    ],
    options,
  )
}
