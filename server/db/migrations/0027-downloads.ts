import type { Migration } from '../migration.ts'

/** What was fetched, counted from access logs, and how far each log was read. New tables. */
export const downloads: Migration = {
  name: '0027-downloads',
  up: `
    create table download_log (
      id bigint generated always as identity primary key,
      series text not null,
      -- a file is known by the SHA-256 of its first bytes: it is renamed, copied and packed
      head text not null,
      head_bytes int not null,
      position bigint not null,
      seen_at timestamptz not null
    );
    create table download_file (
      id bigint generated always as identity primary key,
      path text collate "C" not null unique,
      format text not null,
      -- null: of no distribution alone
      codename text collate "C",
      name text collate "C" not null,
      version text collate "C" not null,
      arch text collate "C" not null
    );
    create index download_file_of on download_file (codename, name, version);
    create table download_count (
      day date not null,
      file_id bigint not null references download_file,
      address inet not null,
      client text not null,
      downloads bigint not null,
      bytes bigint not null,
      primary key (day, file_id, address, client)
    );
    create index download_count_file on download_count (file_id, day);
    -- requests that are no download, by their kind
    create table download_other (
      day date not null,
      kind text not null,
      codename text collate "C" not null,   -- empty: of no distribution alone
      requests bigint not null,
      bytes bigint not null,
      primary key (day, kind, codename)
    );
    create table download_recent (
      id bigint generated always as identity primary key,
      at timestamptz not null,
      file_id bigint not null references download_file,
      address inet not null,
      client text not null,
      bytes bigint not null,
      status int not null,
      user_agent text not null
    );
    create index download_recent_at on download_recent (at desc, id desc);
    -- days until which addresses are networks
    create table download_shortened (day date primary key);
  `,
}
