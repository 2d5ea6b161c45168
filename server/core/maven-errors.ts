/** What is refused about Maven registries. */
export const MAVEN_ERRORS = {
  maven_address: [
    400,
    '{path} is no address of a Maven registry: {why}. A file lies at group/artifact/version/artifact-version.extension.',
  ],
  maven_no_version: [404, 'There is no {path} in the registry {registry}.'],
  maven_checksum: [
    400,
    'The {algorithm} of {file} is not the one that was sent. Nothing of this version was kept: deploy it again. Sent was {said}, its bytes have {actual}.',
  ],
  maven_checksum_form: [400, '{file} is no checksum: {length} hex characters are needed.'],
  maven_released: [
    409,
    '{name} {version} is here already and never replaced: deploy a new version. {file} would change it.',
  ],
  maven_late: [
    409,
    '{file} came after the list of versions of {name} {version}, which ended its deploy: deploy a new version. maven-deploy-plugin before 3.0 sends attached files so: use 3.0 or later.',
  ],
  maven_under_way: [
    409,
    '{who} is deploying {name} {version}, with other bytes for {file}. Deploy again in {retry_after} s, or another version.',
  ],
  maven_many_files: [409, '{name} {version} has {most} files, and more are not taken.'],
  maven_waiting_full: [
    503,
    'Versions that are not whole fill the room that this registry has for them ({most}). Deploy again in a minute.',
  ],
  maven_metadata: [400, '{file} is not taken: {why}.'],
  maven_deletes_whole: [
    400,
    '{path} is one file, and a version is deleted whole. Delete the address of its folder, group/artifact/version/.',
  ],
} as const
