import type { Migration } from '../migration.ts'

/**
 * Names that clients asked a proxy for and of which its upstream never said anything. Locks nothing but the new table.
 */
export const remoteUnanswered: Migration = {
  name: '0065-remote-unanswered',
  up: `
    create table remote_unanswered (
      codename  text collate "C" not null,
      name      text collate "C" not null,
      outcome   text not null,                     -- failed, refused, missing, reserved: never asked outside
      said      text,                              -- why, for people
      tried_at  timestamptz not null,
      primary key (codename, name)
    );
    create index remote_unanswered_newest on remote_unanswered (codename, tried_at desc);
  `,
}
