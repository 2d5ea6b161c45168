import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runAsDaemon } from '../as-daemon.ts'
import { at, must, Refused, type Ports } from '../ports.ts'
import { readMedia } from './media.ts'
import type { Say } from './table.ts'

const OWN = '/repos/backups'
const PASSPHRASE = '/run/gatehouse-machine/passphrase'
const HOURS_MS = 3_600_000

export interface Backup {
  readonly path: string
  /** Of the stick it is on; undefined for those on this machine. */
  readonly label?: string
  readonly size: number
  readonly modified_at: string
}

async function listOwn(ports: Ports): Promise<Backup[]> {
  const names = (await readdir(at(ports, OWN)).catch(() => [])).filter(name => /\.tar(\.(gz|zst))?(\.age)?$/.test(name))
  const found = names.map(async name => {
    const { size, mtime } = await stat(at(ports, join(OWN, name)))
    return { path: join(OWN, name), size, modified_at: mtime.toISOString() }
  })
  return Promise.all(found)
}

/** Backups on sticks and on this machine, the newest first. */
export async function listBackups(ports: Ports): Promise<Backup[]> {
  const media = await readMedia(ports)
  const onMedia = media.flatMap(({ label, path: folder, files }) =>
    files
      .filter(file => file.kind === 'backup')
      .map(({ path, size, modified_at }) => ({ path: join(folder, path), label, size, modified_at })),
  )
  return [...onMedia, ...(await listOwn(ports))].sort((a, b) => b.modified_at.localeCompare(a.modified_at))
}

/** Restores by the program of the bundle. The service stands still meanwhile, and runs afterwards in any case. */
export async function restoreBackup(
  ports: Ports,
  { path, passphrase }: { readonly path: string; readonly passphrase: string },
  say: Say,
): Promise<void> {
  ports.log(`screen: ${path} is restored`)
  say('The service stops.')
  await must(ports, 'systemctl', ['start', 'gatehouse-postgres.service'], { timeoutMs: 120_000 })
  await must(ports, 'systemctl', ['stop', 'gatehouse.service'], { timeoutMs: 120_000 })
  try {
    const given: string[] = []
    if (passphrase !== '') {
      // nobody else reads it, and no list of processes shows it
      await must(ports, 'install', ['-o', 'gatehouse', '-m', '400', '/dev/stdin', PASSPHRASE], {
        input: `${passphrase}\n`,
      })
      given.push('--passphrase-file', PASSPHRASE)
    }
    const { code, out, err } = await runAsDaemon(ports, 'restore', [path, ...given], {
      timeoutMs: 24 * HOURS_MS,
      onText: text => say(text.trimEnd()),
    })
    if (code !== 0) throw new Refused('not_restored', (err.trim() || out.trim()).slice(-1_000))
  } finally {
    await ports.run('rm', ['-f', PASSPHRASE])
    say('The service starts.')
    await ports.run('systemctl', ['--no-block', 'start', 'gatehouse.service'])
  }
}
