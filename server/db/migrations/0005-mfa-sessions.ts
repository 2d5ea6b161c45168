import type { Migration } from '../migration.ts'

/**
 * Adds nullable columns and columns with constant defaults: an instant lock on `account` and `api_token`. The rest are
 * new tables.
 */
export const mfaSessions: Migration = {
  name: '0005-mfa-sessions',
  up: `
    alter table account
      -- whose password it is: ours, or a directory's; then password_hash matches nothing
      add column origin         text not null default 'local' check (origin in ('local', 'ldap', 'oidc')),
      -- the sealed TOTP secret that counts, and the one that waits for its first code
      add column mfa_secret     text,
      add column mfa_pending    text,
      -- the newest time step a code was taken for: an older one, or this one again, is refused
      add column mfa_step       bigint,
      -- the first login of an admin without a second factor while the policy asked for one; set once
      add column mfa_grace_from timestamptz;

    create table recovery_code (
      username text not null references account on delete cascade,
      hash     text not null,
      primary key (username, hash)
    );

    -- one row per login, for its owner to see and to end
    create table session (
      id         text primary key,  -- the jti of its tokens
      username   text not null references account on delete cascade,
      cred       timestamptz not null,  -- the account's credentials_at it was opened with
      opened_at  timestamptz not null,
      seen_at    timestamptz not null,
      expires_at timestamptz not null,
      how        text not null,
      ip         text not null,
      agent      text not null
    );
    create index session_owner on session (username, opened_at desc);
    create index session_expiry on session (expires_at);

    -- tokens that ended before their time: sessions that were revoked, and tokens for one use that were used
    create table ended_token (
      id    text primary key,
      until timestamptz not null  -- it would have expired then: from here on the row says nothing new
    );
    create index ended_token_until on ended_token (until);

    -- the newest reset link of an account; the link itself is known by its SHA-256 alone
    create table password_reset (
      username   text primary key references account on delete cascade,
      hash       text not null unique,
      expires_at timestamptz not null,
      -- how many links were asked for since when
      asked      int not null,
      since      timestamptz not null
    );

    -- mails on their way, sealed: a reset link is as good as a password
    create table mail_pending (
      id     bigint generated always as identity primary key,
      sealed text not null,
      until  timestamptz not null  -- not sent any more from here on
    );

    alter table api_token
      -- the user who made it, while there is one: the token never may more than that user
      add column creator       text references account on delete set null,
      add column distributions text[],
      add column upload_only   boolean not null default false;
    update api_token set creator = created_by where exists (select 1 from account where username = created_by);`,
}
