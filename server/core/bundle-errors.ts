/** Refusals of bundles for sites without a network, and of receipts: part of `ERRORS`. */
export const BUNDLE_ERRORS = {
  bundle_site_not_found: [404, 'There is no site {site}. An admin adds it first.'],
  bundle_site_exists: [409, 'There is a site {site} already.'],
  bundle_not_found: [404, 'There is no bundle {id}, or its file was removed here.'],
  bundle_empty: [
    409,
    'There is nothing to send to {site}: by its last receipt it has everything. Choose all to send it again.',
  ],
  bundle_unknown_packages: [422, 'Nothing is published here under {names}.'],
  bundle_held_packages: [
    422,
    '{names} waits for review here, so it does not go along. Decide on it first, in the console under Review.',
  ],
  bundle_withheld_packages: [
    422,
    '{names} was quarantined or rejected here and is not published, so it does not go along.',
  ],
  bundle_group_empty: [422, 'Nothing of the import group {group} is published here, so nothing of it can go along.'],
  bundle_group_chosen: [422, '{name} is a group, which has no versions of its own. Choose its members.'],
  bundle_no_room: [
    507,
    'The bundle needs {needs_mb} MB, and {free_mb} MB are free. Remove older bundles, or make room.',
  ],
  bundle_member_damaged: [
    500,
    'The file {sha256} of the pool is damaged or gone, so no bundle was made. Restore it from a backup, or upload its package again.',
  ],
  bundle_refused: [
    422,
    '{file} is refused: {why}. Nothing of it was taken in; carry it over again, or have it made anew.',
  ],
  bundle_unknown_sender: [
    403,
    '{file} is signed with {fingerprints}, and no sender with this key is pinned. Compare the fingerprint with the sender over another way; then an admin pins it as that of a sender.',
  ],
  bundle_sender_not_found: [404, 'There is no sender {sender}.'],
  bundle_nothing_came: [409, 'No bundle of {sender} was taken in yet, so there is nothing to confirm.'],
  bundle_sender_exists: [409, 'There is a sender {sender} already.'],
  bundle_bad_key: [422, 'The key cannot be pinned: {why}.'],
  bundle_other_site: [409, '{file} was made for {site}, and {sender} calls this site {here}. Import it there.'],
  bundle_other_package: [422, 'The list of the bundle says {said}, and the file is {found}.'],
  bundle_older: [
    409,
    '{file} has the number {number}, and {last} of {sender} was taken already. Its packages may be older than those here; an admin may import it with allow_older.',
  ],
  bundle_allow_older: [403, 'Only an admin may import an older bundle with allow_older.'],
  bundle_place_refused: [422, '{path} is not read: {why}.'],
  bundle_upload_not_found: [404, 'There is no upload {id}; perhaps it was removed after three days. Begin again.'],
  bundle_offset: [409, 'The upload {id} has {received} bytes. Send it on from there.'],
  bundle_upload_incomplete: [409, 'The upload {id} has {received} of {size} bytes. Send the rest first.'],
  receipt_refused: [422, 'The receipt is refused: {why}. What was known of the site is still there.'],
  receipt_unknown_key: [
    403,
    'The receipt of {site} is signed with {fingerprints}, and this key is not pinned for the site. Compare the fingerprint with the site over another way; then an admin pins it for the site.',
  ],
  receipt_older: [409, 'The receipt of {site} was made on {made_at}; one of {known_at} was read already.'],
} as const satisfies Record<string, readonly [number, string]>
