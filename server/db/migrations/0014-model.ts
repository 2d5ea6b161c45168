import type { Migration } from '../migration.ts'

const FILE = `jsonb_build_object('path', manifest->'filename', 'blob', manifest->'blob')
      || case when manifest->'signed' is not null then jsonb_build_object('signed', manifest->'signed') else '{}' end`

/**
 * A version has files, not one blob; mutable names stand apart. Writes every row of `package` once, which is locked
 * for as long: measured 12 s for 100,000 packages on two cores. Manifests on disk stay as they are:
 * `core/read-manifest.ts` reads both schemas.
 */
export const model: Migration = {
  name: '0014-model',
  up: `
    alter table package rename column files to paths;                -- what a client would install, one path a line
    alter table package add column component text collate "C";       -- null: the first one of the repository
    drop index package_blob;
    update package set manifest = (manifest - array['blob', 'signed', 'filename'])
      || jsonb_build_object('schema', 2, 'files', jsonb_build_array(${FILE}));

    -- package.sha256 and package.size are those of the first file
    create table package_file (
      package_id bigint not null references package on delete cascade,
      n          int not null,                                       -- from 0, in the manifest's order
      path       text collate "C" not null,
      sha256     text not null,
      size       bigint not null,
      md5        text not null,
      sha1       text not null,
      sha512     text not null,
      primary key (package_id, n),
      unique (package_id, path)
    );
    insert into package_file (package_id, n, path, sha256, size, md5, sha1, sha512)
    select id, 0, f->>'path', f->'blob'->>'sha256', (f->'blob'->>'size')::bigint, f->'blob'->>'md5', f->'blob'->>'sha1', f->'blob'->>'sha512'
    from package, lateral (select manifest->'files'->0 as f) as first;
    create index package_file_blob on package_file (sha256);

    -- mutable names of versions: an index of the tags.json beside the manifests
    create table tag (
      format     text collate "C" not null,
      codename   text collate "C" not null,
      name       text collate "C" not null,
      tag        text collate "C" not null,
      version    text collate "C" not null,
      set_by     text not null,
      set_at     timestamptz not null,
      primary key (codename, name, tag, format)
    );`,
}
