import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeAtomic } from '../lib/atomic.ts'
import type { Layout } from './layout.ts'

/** The secret `name` under `.secrets/`, made at random (256 bits, hex) the first time. Folder 0700, file 0600. */
export async function keepSecret(layout: Pick<Layout, 'secrets'>, name: string): Promise<string> {
  const path = join(layout.secrets, name)
  await mkdir(layout.secrets, { recursive: true, mode: 0o700 })
  await chmod(layout.secrets, 0o700)
  try {
    const kept = (await readFile(path, 'utf8')).trim()
    if (kept !== '') return kept
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const made = randomBytes(32).toString('hex')
  await writeAtomic(path, `${made}\n`, { mode: 0o600 })
  return made
}
