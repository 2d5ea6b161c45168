import type { Migration } from '../migration.ts'

/**
 * What the indexes of import sources list. All of it is derived: it is left out of backups, and a source without a row
 * in `import_held` is read from the beginning. New tables.
 */
export const catalogue: Migration = {
  name: '0035-catalogue',
  up: `
    -- what the catalogue holds of a source; no row: nothing yet
    create table import_held (
      source_id integer primary key references import_source on delete cascade,
      -- of the root that it was read from, and what was read of it
      sha256 text not null,
      scope text not null,
      packages integer not null,
      held_at timestamptz not null,
      -- names that its packages ask for, of the kinds that are kept only where somebody asks
      asked text[] not null default '{}',
      -- whether names of those kinds were left out
      left_out boolean not null default false,
      -- entries that were left out as older versions, 20 bytes each
      dropped bytea not null default ''
    );
    -- each sync takes its ids from a range of its own
    create sequence import_batch;
    create table import_package (
      id bigint primary key,
      source_id integer not null,
      component text,
      name text not null,
      version text not null,
      arch text not null,
      section text,
      summary text not null,
      size bigint not null,
      sha256 bytea,
      sha512 bytea,
      -- APK: SHA-1 of the control member
      control bytea,
      path text not null,
      source text not null,
      source_version text not null,
      relations jsonb not null,
      notes jsonb not null,
      -- RPM: the stream of a module that it belongs to, and whether clients see it only when they ask for that
      module text,
      hidden boolean not null default false,
      -- SHA-1 of the entry in its index
      digest bytea not null
    );
    create index import_package_name on import_package (name text_pattern_ops, source_id);
    create index import_package_entry on import_package (source_id, digest);

    -- other names under which a package is found: what it provides, its files, what it reacts to
    create table import_capability (
      name text not null,
      source_id integer not null,
      package_id bigint not null
    );
    create index import_capability_name on import_capability (name text_pattern_ops, source_id);
    create index import_capability_package on import_capability (package_id);

    -- one row for each distinct name: what is searched
    create table import_name (
      id bigint generated always as identity primary key,
      format text not null,
      name text not null,
      summary text not null,
      sources integer[] not null,
      unique (format, name)
    );
    create index import_name_prefix on import_name (lower(name) text_pattern_ops);
    create index import_name_part on import_name using gin (lower(name) gin_trgm_ops);
    -- short names come first, and there are few of them
    create index import_name_prefix_short on import_name (lower(name) text_pattern_ops) where length(name) <= 12;
    create index import_name_part_short on import_name using gin (lower(name) gin_trgm_ops) where length(name) <= 12;
    create index import_name_words on import_name using gin (to_tsvector('english', summary));

    -- names go with their source
    create function import_source_gone() returns trigger language plpgsql as $$
    begin
      delete from import_capability where package_id in (select id from import_package where source_id = old.id);
      delete from import_package where source_id = old.id;
      delete from import_name where sources = array[old.id];
      update import_name set sources = array_remove(sources, old.id) where old.id = any(sources);
      return null;
    end $$;
    create trigger import_source_gone after delete on import_source for each row execute function import_source_gone();
  `,
}
