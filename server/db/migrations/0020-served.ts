import type { Migration } from '../migration.ts'

/**
 * What a name says of itself follows its newest served version. Columns with constant defaults: a lock of a moment.
 * Then names with a version that is not served are written: a second for 100,000 names.
 */
export const served: Migration = {
  name: '0020-served',
  up: `
    alter table artifact
      add column state       text not null default 'published', -- of latest
      add column newer       text,                              -- the newest version that is not served, if newer than latest
      add column newer_state text;
    update artifact a set latest = told.version, summary = told.summary, state = told.state, newer = told.newer, newer_state = told.newer_state
      from (
        select touched.*, latest.version, latest.summary, latest.state, newer.version as newer, newer.state as newer_state
        from (select distinct format, name from package where state <> 'published') as touched
        cross join lateral (
          select p.version, p.summary, p.state, p.sort_key from package p where p.name = touched.name and p.format = touched.format
          order by (p.state = 'published') desc, (p.kind = 'source'), p.sort_key desc, p.codename, p.arch limit 1) as latest
        left join lateral (
          select p.version, p.state from package p
          where p.name = touched.name and p.format = touched.format and p.state <> 'published' and p.sort_key > latest.sort_key
          order by p.sort_key desc, p.codename, p.arch limit 1) as newer on true
      ) as told where a.name = told.name and a.format = told.format;
    -- where a newer source stands beside what is installed from the version before
    update artifact a set latest = told.version, summary = told.summary
      from (select distinct format, name from package where kind = 'source' and state = 'published') as touched
      cross join lateral (
        select p.version, p.summary from package p where p.name = touched.name and p.format = touched.format and p.state = 'published'
        order by (p.kind = 'source'), p.sort_key desc, p.codename, p.arch limit 1) as told
      where a.name = touched.name and a.format = touched.format;`,
}
