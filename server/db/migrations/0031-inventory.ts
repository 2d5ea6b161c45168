import type { Migration } from '../migration.ts'

/** Machines and what is known of them. New tables. */
export const inventory: Migration = {
  name: '0031-inventory',
  up: `
    create table inventory_client (
      id integer generated always as identity primary key,
      hostname text not null,
      ip text not null default '',
      label text not null default '',
      enabled boolean not null default true,
      connection_type text not null check (connection_type in ('ssh', 'agent')),
      ssh_user text not null default 'root',
      ssh_port integer not null default 22,
      -- sealed; null: the service's own key
      ssh_password text,
      -- SHA-256 of the token, in hex
      agent_token_hash text unique,
      agent_version text,
      agent_last_seen timestamptz,
      pkg_type text not null default 'auto',
      -- an admin's word; null: found by its system
      wanted_distribution text,
      -- what it told of itself, all of one moment
      distro_id text,
      distro_version text,
      distro_codename text,
      distro_pretty text,
      grype_distro text,
      distribution text,
      format text,
      kernel text,
      arch text,
      booted_at timestamptz,
      reboot text not null default 'unknown' check (reboot in ('needed', 'no', 'unknown')),
      reboot_said text not null default 'It has not told anything yet.',
      packages integer,
      -- of its list of packages: an equal one is not written again
      packages_sha256 text,
      last_seen timestamptz,
      -- the last attempt, whether it succeeded or not
      last_scan timestamptz,
      last_scan_status text not null default 'never' check (last_scan_status in ('never', 'ok', 'error')),
      last_error text,
      last_error_code text,
      -- what was found out by comparing it with the packages here and the advisories
      judged_at timestamptz,
      judged_by text,
      behind integer,
      -- null while nothing is known of findings
      findings jsonb,
      -- the first sight of the oldest one of each severity
      oldest jsonb,
      worst integer not null default 0,
      oldest_update timestamptz,
      closes jsonb,
      coverage text not null default 'unknown',
      coverage_said text not null default 'It has not told its packages yet.',
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp()
    );
    create unique index inventory_client_ssh on inventory_client (lower(hostname), ssh_port) where connection_type = 'ssh';
    create index inventory_client_distribution on inventory_client (distribution);

    create table inventory_package (
      client_id integer not null references inventory_client on delete cascade,
      name text collate "C" not null,
      version text collate "C" not null,
      arch text collate "C" not null,
      source text not null,
      source_version text not null,
      since timestamptz not null,
      primary key (client_id, name, version, arch)
    );
    create index inventory_package_name on inventory_package (name);

    create table inventory_update (
      client_id integer not null references inventory_client on delete cascade,
      name text collate "C" not null,
      arch text collate "C" not null,
      installed text not null,
      available text not null,
      state text not null check (state in ('here', 'in_review', 'not_here')),
      closes jsonb not null,
      since timestamptz not null,
      primary key (client_id, name, arch)
    );

    create table inventory_finding (
      client_id integer not null references inventory_client on delete cascade,
      package text collate "C" not null,
      version text collate "C" not null,
      arch text collate "C" not null,
      cve text collate "C" not null,
      severity text not null,
      rank smallint not null,
      cvss real,
      fixed_in text,
      update_state text,
      kev boolean not null,
      epss real,
      epss_percentile real,
      first_seen timestamptz not null,
      primary key (client_id, package, version, arch, cve)
    );
    create index inventory_finding_worst on inventory_finding (rank desc, cve);
    create index inventory_finding_cve on inventory_finding (cve);

    -- the words about a vulnerability, once for all machines
    create table inventory_cve (cve text collate "C" primary key, summary text not null, urls text[] not null);

    create table inventory_scan (
      id bigint generated always as identity primary key,
      client_id integer not null references inventory_client on delete cascade,
      at timestamptz not null,
      connection_type text not null,
      asked_by text not null,
      status text not null check (status in ('ok', 'error')),
      error_code text,
      error text,
      duration_ms integer not null,
      packages integer,
      added integer not null default 0,
      removed integer not null default 0,
      changed integer not null default 0,
      changes jsonb not null default '[]'
    );
    create index inventory_scan_of on inventory_scan (client_id, at desc);
    create index inventory_scan_at on inventory_scan (at desc);

    create table inventory_known_host (
      client_id integer primary key references inventory_client on delete cascade,
      hostname text not null,
      key_type text not null,
      fingerprint text not null,
      trusted_at timestamptz not null,
      trusted_by text not null,
      -- another key that was shown since: it blocks
      offered_key_type text,
      offered_fingerprint text,
      offered_at timestamptz
    );

    create table inventory_rules (one boolean primary key default true check (one), rules jsonb not null);

    -- the key pair by which machines are asked; the private half is sealed
    create table inventory_key (
      one boolean primary key default true check (one),
      public_key text not null,
      private_key text not null,
      created_at timestamptz not null
    );
  `,
}
