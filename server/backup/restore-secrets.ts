import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { listFiles } from '../lib/list-files.ts'
import { keyIdOf, keysOfSealed } from '../lib/secret-box.ts'
import { BadArchive } from './archive-reader.ts'

const KEY = join('.secrets', 'settings')

const textOf = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined)

/** The ids of the keys that the staged signing keys and settings were encrypted with. */
async function keysNeeded(staged: string): Promise<ReadonlySet<string>> {
  const files = [join(staged, 'settings.json'), ...(await listFiles(join(staged, 'keyring')))]
  const found = new Set<string>()
  for (const path of files) for (const id of keysOfSealed((await textOf(path)) ?? '')) found.add(id)
  return found
}

/**
 * Asks whether the service could read what it is to start on.
 * @param own  SETTINGS_ENCRYPTION_KEY; where it is not set, the key is that of the backup, or the one that is here
 * @throws BadArchive where the backup's secrets need another key. A root that has none yet may get it afterwards
 */
export async function refuseForeignSecrets(
  { staged, root }: { readonly staged: string; readonly root: string },
  own: string | undefined,
): Promise<void> {
  const key = own ?? (await textOf(join(staged, KEY))) ?? (await textOf(join(root, KEY)))
  if (key === undefined) return
  const id = keyIdOf(key.trim())
  if ([...(await keysNeeded(staged))].every(needed => needed === id)) return
  throw new BadArchive(
    'Its signing keys and passwords were encrypted with another SETTINGS_ENCRYPTION_KEY, and without that key the service would not start. Stop the service, and restore it with npm run restore and the SETTINGS_ENCRYPTION_KEY of the service that made it, or its file .secrets/settings in the place of the one here.',
  )
}
