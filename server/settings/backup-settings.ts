import { bool, FOLDER_OR_EMPTY, int, schedule, section, text, URL_OR_EMPTY } from './setting-types.ts'

const LABEL = '[A-Za-z0-9][A-Za-z0-9.-]*'

/** When backups are made, where they go, and how many stay. */
export const backup = section('Backups of the whole installation: when, where to, and how many stay.', {
  ...schedule(false, 4, 30, 'the backup'),
  retention_count: int(
    7,
    [1, 1_000],
    'Backups that are kept in each place; the newest one that was proved stays beside them.',
  ),
  retention_days: int(0, [0, 3_650], 'Backups older than this are removed, too; 0: whatever their age.', 'd'),
  passphrase: text(
    '',
    'Encrypts backups, with age; only then the secrets are in them. Keep it elsewhere: without it they cannot be read.',
    { secret: true, maxLength: 200 },
  ),
  drill_weekly: bool(
    false,
    'Prove the newest backup of each place every Sunday, an hour after the hour of the backup.',
  ),
  to_folder: bool(true, 'Make an archive in backups/ below REPOS_ROOT.'),
  directory: text(
    '',
    'A mounted directory, on a USB disk or a share, that backups are written to as well; each file lies there once. Empty: none.',
    { ...FOLDER_OR_EMPTY },
  ),
  s3_endpoint: text(
    '',
    'Address of an S3-compatible store that backups are written to as well, without the bucket. Empty: none.',
    { ...URL_OR_EMPTY },
  ),
  s3_bucket: text('', 'Its bucket; it must exist.', {
    maxLength: 63,
    pattern: `^$|^${LABEL}$`,
    rule: 'the name of a bucket: letters, digits, dots and hyphens, or empty',
  }),
  s3_prefix: text('', 'Folder in the bucket. Each installation needs one of its own.', {
    maxLength: 200,
    pattern: `^$|^${LABEL.replace('.-', '._-')}(/${LABEL.replace('.-', '._-')})*$`,
    rule: 'names of letters, digits, dots, hyphens and underscores with slashes between, or empty',
  }),
  s3_region: text('us-east-1', 'Region of the bucket.', {
    maxLength: 60,
    pattern: `^${LABEL}$`,
    rule: 'the name of a region, such as eu-central-1',
  }),
  s3_access_key: text('', 'Access key. It needs to list, read, write and delete below the prefix.', { maxLength: 200 }),
  s3_secret_key: text('', 'Its secret key.', { secret: true, maxLength: 200 }),
  s3_ca_bundle_path: text('', "CA certificates to verify the store with; empty means the system's.", {
    ...FOLDER_OR_EMPTY,
  }),
})
