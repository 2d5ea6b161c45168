import { randomBytes } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncFolder, writeAtomic } from '../lib/atomic.ts'
import type { Layout } from './layout.ts'

/** The secret `name` under `.secrets/`, made at random (256 bits, hex) the first time. Folder 0700, file 0600. */
export async function keepSecret(layout: Pick<Layout, 'secrets'>, name: string): Promise<string> {
  const path = join(layout.secrets, name)
  await mkdir(layout.secrets, { recursive: true, mode: 0o700 })
  await chmod(layout.secrets, 0o700)
  const part = join(layout.secrets, `.${name}.${randomBytes(6).toString('hex')}`)
  await writeAtomic(part, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  try {
    // when several processes start at once, one makes it and all read that one
    await link(part, path)
    await fsyncFolder(layout.secrets)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(part, { force: true })
  }
  const kept = (await readFile(path, 'utf8')).trim()
  if (kept.length < 32)
    throw new Error(
      `The secret ${name} under .secrets/ is damaged. Restore it from a backup; what was encrypted with it cannot be read without.`,
    )
  return kept
}
