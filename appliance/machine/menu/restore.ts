import { listBackups, restoreBackup, type Backup } from '../verbs/restore.ts'
import type { Menu } from './context.ts'
import { choose, confirm } from './terminal.ts'

const sizeOf = (bytes: number): string =>
  bytes < 1024 ** 2
    ? `${Math.ceil(bytes / 1024)} KB`
    : bytes < 1024 ** 3
      ? `${Math.ceil(bytes / 1024 ** 2)} MB`
      : `${(bytes / 1024 ** 3).toFixed(1)} GB`

const lineOf = ({ path, label, size, modified_at }: Backup): string =>
  `${modified_at.slice(0, 16).replace('T', ' ')}  ${sizeOf(size).padStart(7)}  ${label === undefined ? 'this machine' : label}: ${path.split('/').at(-1)}`

export async function restore({ terminal, ports }: Menu): Promise<void> {
  const backups = await listBackups(ports)
  if (backups.length === 0)
    terminal.say('\nThere is no backup on this machine, and none on a stick whose label begins with GATEHOUSE.')
  const chosen = await choose(terminal, [...backups.map(lineOf), 'another file or folder'], 'Restore')
  const path = backups[chosen]?.path ?? (await terminal.ask('Its path: '))
  if (!path.startsWith('/')) {
    terminal.say('A path begins with /.')
    return
  }
  const passphrase = await terminal.ask('Its passphrase, nothing where it is not encrypted: ', { isSecret: true })
  terminal.say(
    '\nPackages, accounts and settings become those of the backup. What is here now is put aside for seven days.',
  )
  await confirm(terminal, 'The service stands still meanwhile.')
  await restoreBackup(ports, { path, passphrase }, step => terminal.say(step))
  terminal.say('Restored.')
}
