import type { Migration } from '../migration.ts'

/** Messages to be sent, and messages received. New tables: no lock on anything in use. */
export const notifications: Migration = {
  name: '0008-notifications',
  up: `
    -- one row per message and way of telling it; gone once it is delivered or given up
    create table notice (
      id         bigint generated always as identity primary key,
      channel    text not null check (channel in ('webhook', 'mail')),
      event      text not null,
      body       jsonb not null,
      made_at    timestamptz not null,
      tries      int not null default 0,
      last_error text
    );
    -- inbound webhooks that were taken: the same one again does nothing
    create table webhook_delivery (
      source  text not null,
      proof   text not null,
      at      timestamptz not null,
      primary key (source, proof)
    );
    create index webhook_delivery_at on webhook_delivery (at);`,
}
