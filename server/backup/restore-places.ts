import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncFolder } from '../lib/atomic.ts'
import { failpoint } from '../lib/failpoint.ts'
import { BadArchive } from './archive-reader.ts'
import { STAGING, type RestorePlan } from './restore-plan.ts'

/** What a restore replaces. Trees stay, so that clients are served: the next leader publishes from the new pool. */
const PLACES = [
  'pool',
  'quarantine',
  'manifests',
  'documents',
  'audit',
  'security',
  'keyring',
  '.secrets',
  'settings.json',
  'distributions.json',
] as const

/** Files of before lie here until somebody goes back, or seven days are over. */
export const awayFolder = (root: string, away: string): string => join(root, `.${away}`)

/** @throws BadArchive where a place is a disk of its own: it cannot be put aside by a rename */
export async function refuseMounted(root: string): Promise<void> {
  const { dev } = await stat(root)
  for (const name of PLACES) {
    const place = await stat(join(root, name)).catch(() => undefined)
    if (place !== undefined && place.dev !== dev)
      throw new BadArchive(
        `${join(root, name)} is on a disk of its own, so a restore cannot put it aside. Restore into an empty REPOS_ROOT, and mount that disk there afterwards.`,
      )
  }
}

/** Puts staged files in their places, and what was there aside. May be done again from any point. */
export async function putInPlace(root: string, { away, backup, staged, audit }: RestorePlan): Promise<void> {
  const staging = join(root, STAGING)
  const aside = awayFolder(root, away)
  await mkdir(aside, { recursive: true, mode: 0o700 })
  for (const name of PLACES) {
    if (name === '.secrets' && !backup.has_secrets) continue
    if (name === 'audit' && audit === 'kept') continue
    const [here, waiting, before] = [join(root, name), join(staging, name), join(aside, name)]
    const isWaiting = existsSync(waiting)
    if (staged.includes(name) && !isWaiting) continue // an earlier attempt put it there
    if (existsSync(here) && !existsSync(before)) await rename(here, before)
    failpoint('restore:between-places')
    if (isWaiting) await rename(waiting, here)
  }
  await fsyncFolder(root)
}

/** Removes what was put aside, but not an audit log. */
export async function dropAside(root: string, away: string): Promise<void> {
  const aside = awayFolder(root, away)
  const names = await readdir(aside).catch((): string[] => [])
  for (const name of names.filter(one => one !== 'audit')) await rm(join(aside, name), { recursive: true, force: true })
  if (!names.includes('audit')) await rm(aside, { recursive: true, force: true })
}

/** Puts back what was put aside. May be done again from any point. */
export async function takeBack(root: string, away: string): Promise<void> {
  const aside = awayFolder(root, away)
  for (const name of await readdir(aside).catch(() => [])) {
    await rm(join(root, name), { recursive: true, force: true })
    failpoint('restore:between-places')
    await rename(join(aside, name), join(root, name))
  }
  await rm(aside, { recursive: true, force: true })
  await fsyncFolder(root)
}
