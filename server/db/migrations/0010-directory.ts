import type { Migration } from '../migration.ts'

/** Single sign-on. New tables: no lock on anything that is used. */
export const directory: Migration = {
  name: '0010-directory',
  up: `
    -- a login that is under way: good once, in one browser, for minutes. Tokens are kept as SHA-256
    create table sso_step (
      token   text primary key,
      browser text not null,
      sealed  text not null,
      until   timestamptz not null
    );
    create index sso_step_until on sso_step (until);
    -- who an account of single sign-on belongs to: names change hands at a provider, subjects do not
    create table sso_identity (
      issuer   text not null,
      subject  text not null,
      username text not null unique,
      at       timestamptz not null default now(),
      primary key (issuer, subject)
    );`,
}
