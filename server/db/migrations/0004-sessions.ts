import type { Migration } from '../migration.ts'

/** Adds one nullable column: an instant lock on `account`. */
export const sessions: Migration = {
  name: '0004-sessions',
  up: `
    -- the jti of the session that changed the password: it goes on, all others end with credentials_at
    alter table account add column kept_session text;`,
}
