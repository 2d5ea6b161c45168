import type { Migration } from '../migration.ts'

/** Users and API tokens. New tables: no lock on anything that is used. */
export const accounts: Migration = {
  name: '0001-accounts',
  up: `
    create table account (
      username        text primary key,
      password_hash   text not null,
      role            text not null check (role in ('reader','auditor','uploader','maintainer','admin')),
      full_name       text,
      email           text,
      active          boolean not null default true,
      created_at      timestamptz not null default now(),
      last_login      timestamptz,
      failed_logins   int not null default 0,
      locked_until    timestamptz,
      -- raised by a password change or a deactivation: tokens issued before are refused
      credentials_at  timestamptz not null default now()
    );
    create table api_token (
      id           uuid primary key default gen_random_uuid(),
      name         text not null,
      role         text not null check (role in ('reader','auditor','uploader','maintainer','admin')),
      hash         text not null unique,
      created_by   text not null,
      created_at   timestamptz not null default now(),
      expires_at   timestamptz,
      last_used_at timestamptz
    );`,
}
