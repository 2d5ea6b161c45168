import type { Migration } from '../migration.ts'

/**
 * A path of a registry may give another version tomorrow. Locks `download_file` while its index is made: under a second
 * for 100,000 files.
 */
export const registryDownloads: Migration = {
  name: '0056-registry-downloads',
  up: `
    -- by a tag, or through a group
    alter table download_file drop constraint download_file_path_key;
    create unique index download_file_is on download_file (path, (coalesce(codename, '')), version);
  `,
}
