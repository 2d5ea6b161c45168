import type { Migration } from '../migration.ts'

/** What several daemons on one database share. New, small tables. */
export const replicas: Migration = {
  name: '0030-replicas',
  up: `
    -- which database this is: a REPOS_ROOT belongs to one
    create table installation (one boolean primary key default true check (one), id text not null);
    insert into installation (id) values (gen_random_uuid()::text);

    -- every leader counts up; what a leader writes says for which epoch it is
    create table leader (
      one boolean primary key default true check (one),
      epoch bigint not null,
      holder text not null,
      since timestamptz not null
    );
    insert into leader (epoch, holder, since) values (0, '', now());

    create table replica (
      id text primary key,
      host text not null,
      version text not null,
      started_at timestamptz not null default clock_timestamp(),
      seen_at timestamptz not null default clock_timestamp()
    );

    -- counts up when something that every process keeps in memory has changed
    create table changed (topic text primary key, n bigint not null);

    -- no two generations of a distribution ever have the same number
    create table generation_number (codename text primary key, n integer not null);
  `,
}
