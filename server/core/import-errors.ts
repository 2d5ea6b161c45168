/** What can go wrong with packages and indexes of other repositories: rows of `ERRORS`. */
export const IMPORT_ERRORS = {
  upstream_refused: [502, 'The upstream repository is refused: {path}: {why}.'],
  adopt_outside: [
    422,
    '{path} is outside the folders that trees may be adopted from: {allowed}. Put the tree there, or have an admin add its folder to IMPORT_ROOTS and start again.',
  ],
  adopt_missing: [404, 'There is no folder {path} that the service may read.'],
  adopt_which_suite: [422, 'The tree has the suites {suites}. Say with suite which one is meant.'],
  adopt_unreadable: [422, 'The index {path} of the tree is not read: {why}.'],
  adopt_nothing: [422, 'There are no package files ({endings}) and no indexes in {path}.'],
  bad_import_key: [422, 'The key is refused: {why}.'],
  import_key_not_found: [404, 'There is no key {name} for repositories of others.'],
  bad_import_source: [422, 'The source is refused: {why}.'],
  import_source_exists: [409, 'There is a source {key} already. Give this one another name, or change that one.'],
  import_source_builtin: [409, 'The source {key} comes with the product. Switch it off instead.'],
  import_source_used: [
    409,
    'Packages that are here came from the source {key}, which stays so that they tell where they are from. Switch it off instead.',
  ],
  tree_refused: [422, 'The directory {folder} is not read as a repository: {why}.'],
  catalogue_empty: [
    424,
    'No source was ever synchronised, so nothing is known of packages elsewhere. A maintainer can start that.',
  ],
  source_not_synchronised: [
    424,
    'The source {source} was never synchronised, so nothing is known of its packages. A maintainer can start that.',
  ],
  source_not_found: [404, 'There is no source {source}.'],
  bad_sync_target: [400, 'There is no source {target}, and it is none of {known}.'],
  search_too_slow: [503, 'The search took too long. Type more letters, or try again when the database is less busy.'],
  distribution_not_synchronised: [
    424,
    'No source for {codename} was ever synchronised, so nothing is known of its packages elsewhere. A maintainer can start that.',
  ],
  import_unknown: [
    404,
    'No source for {codename} lists {name}. Look at its spelling, or synchronise the sources that would have it.',
  ],
  import_unknown_version: [404, 'The sources for {codename} list {name} in {versions}, and not in {version}.'],
  import_ambiguous: [
    422,
    '{name} is listed for several distributions: {codenames}. Name the one that it is for, as distribution.',
  ],
  import_group_not_found: [404, 'There is no import group {group}.'],
  import_group_elsewhere: [
    409,
    'The import group {group} is of another distribution than {codename}. Name another group.',
  ],
  import_source_gone: [409, 'The source {source} was removed while its packages were imported. Import them again.'],
  import_no_room: [
    507,
    'The packages need {needs_mb} MB while they come in, and {free_mb} MB are free above the {least_gb} GB that stay free. {remedy}',
  ],
  import_no_tree: [422, '{codename} takes {format} packages, which cannot be imported from other repositories.'],
  mirror_no_distribution: [
    400,
    'The source {source} is for no distribution that takes packages here. Reactivate one of those that it is for, or widen its rule.',
  ],
  mirror_source_off: [
    409,
    'The source {source} is switched off. An admin can switch it on in the settings, at sources.',
  ],
  mirror_frozen: [
    409,
    'Every distribution that the source {source} goes to is frozen: {codenames}. A maintainer can lift that, or promote from another distribution.',
  ],
  mirror_source_unknown: [400, 'There is no source {source}. Nothing was changed.'],
  mirror_not_for: [400, 'The source {source} is not for {codename}; it is for {known}. Nothing was changed.'],
  mirror_running: [
    409,
    '{running} is being mirrored, by the job {job}, and only one mirror runs at a time. Start {source} when it has ended, or cancel it.',
  ],
  security_run_not_found: [
    404,
    'There is no run {id} of security updates on record. It may go on still, or be older than the newest 100.',
  ],
  security_no_source: [
    409,
    'Nothing is published in {codenames} that a source of security updates is switched on for. Switch one on under Import, Sources.',
  ],
  mirror_not_mirrored: [404, 'No source is mirrored into {codename}.'],
} as const
