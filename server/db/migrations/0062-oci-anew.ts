import type { Migration } from '../migration.ts'

/**
 * What earlier versions left of container images: layers of what is quarantined go to quarantine, and what clients run
 * is an image whatever its config is called. Moves and documents are owed; the service does them once it has started.
 * Locks packages for as long as it reads the facts of all images.
 */
export const ociAnew: Migration = {
  name: '0062-oci-anew',
  up: `
    insert into outbox (key, not_before)
      select distinct 'blob:' || f.sha256, clock_timestamp() from package_file f join package p on p.id = f.package_id
      where p.format = 'oci' and f.n > 0 and p.state in ('quarantined', 'rejected');
    with changed as (
      update package set facts = jsonb_set(facts, '{kind}', '"image"')
      where format = 'oci' and facts ->> 'kind' = 'artifact' and (
        facts ->> 'media_type' = 'application/vnd.docker.distribution.manifest.v2+json'
        or facts -> 'config' ->> 'mediaType' in ('application/octet-stream', 'application/json', 'text/html')
        or exists (select 1 from jsonb_path_query(facts, '$.layers[*].mediaType') layer
          where layer #>> '{}' ~* '^application/vnd[.](oci[.]image[.]layer|docker[.]image[.]rootfs)[.]'))
      returning format, codename, name, version, arch
    )
    insert into outbox (key, not_before)
      select 'manifest:' || jsonb_build_object('format', format, 'codename', codename, 'name', name,
        'version', version, 'arch', arch)::text, clock_timestamp() from changed
      union all
      select 'signed:' || codename || ' ' || name || ' ' || version, clock_timestamp() from changed;
  `,
}
