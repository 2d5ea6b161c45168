import type { Migration } from '../migration.ts'

/** How many uploads a minute an API token may make. A column without a default: a lock of a moment. */
export const tokenUploads: Migration = {
  name: '0021-token-uploads',
  up: 'alter table api_token add column uploads_per_minute integer',
}
