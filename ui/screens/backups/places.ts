import type { Reply } from '../../wire.ts'

type Listed = Reply<'GET /backup/'>
type Backup = Listed['backups'][number]

/** Where a backup lies, in a word. */
export const PLACES: Readonly<Record<Backup['place'], string>> = {
  folder: 'This disk',
  directory: 'Directory',
  s3: 'S3',
  medium: 'Stick',
}

/** What `npm run restore` is given for a backup. */
export const addressOf = ({ address, file_name: name }: Backup): string => `${address}/${name.split('@')[0]}`

/** Where backups lie, in a sentence for those who look for them. */
export function whereabouts({ backups, targets, folder }: Listed): string {
  const here = backups.some(one => one.place === 'folder')
  if (targets.length > 0) return here ? `Archives lie in ${folder}.` : ''
  return `They lie in ${folder}, on the same disk: copy them elsewhere, or name a directory or an S3 store in the settings.`
}
