/** Refusals of keys, those that sign here, those of uploaders and of images: part of `ERRORS`. */
export const KEY_ERRORS = {
  no_signing_key: [409, 'There is no signing key yet. An admin makes one on the page Distributions.'],
  signing_key_exists: [
    409,
    'There is a signing key already: {fingerprint}. Replace it on the page Distributions, where both sign for a while.',
  ],
  signing_key_unreadable: [
    422,
    'No OpenPGP key can be read in this text. gpg --armor --export-secret-keys writes one; give all of it, from BEGIN to END.',
  ],
  signing_key_several: [422, 'There are several keys in this text. Export the one that signs, by its fingerprint.'],
  signing_key_public: [
    422,
    'This is only the public part of {fingerprint}, which cannot sign. gpg --armor --export-secret-keys {fingerprint} writes the private one.',
  ],
  signing_key_locked: [422, 'The key {fingerprint} is protected by a passphrase. Give it, too: it is not kept.'],
  signing_key_passphrase: [422, 'This passphrase does not open the key {fingerprint}. Nothing of it was kept.'],
  signing_key_revoked: [422, 'The key {fingerprint} was revoked: clients refuse what it signs. Make a new one.'],
  signing_key_expired: [
    422,
    'The key {fingerprint} expired on {at}: clients refuse what it signs. gpg --quick-set-expire {fingerprint} 0 prolongs it; then export it again.',
  ],
  signing_key_of_tomorrow: [
    422,
    'The key {fingerprint} was made at {at}, which is still to come by the clock of this server. Set the clock right.',
  ],
  signing_key_cannot_sign: [
    422,
    'The key {fingerprint} cannot sign: neither it nor a subkey that is here has that usage, or its private part is elsewhere, such as on a card.',
  ],
  signing_key_weak: [
    422,
    'The key {fingerprint} is too weak for clients of today: {what}. They take RSA of 2048 bits and more, and Ed25519, signed on itself with SHA-256 or better.',
  ],
  bad_uploader_key: [422, 'The uploader key is refused: {why}. Send the public key of one developer, armoured.'],
  uploader_key_exists: [
    409,
    'There is an uploader key {name} already, with this name or this fingerprint. Remove it first: {fingerprint}.',
  ],
  uploader_key_not_found: [404, 'There is no uploader key {name}.'],
  bad_image_key: [
    422,
    'The key is refused: {why}. Send one public key in PEM, ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 bits and more.',
  ],
  image_key_exists: [
    409,
    'There is a trusted key {name} already, with this name or this fingerprint. Remove it first: {fingerprint}.',
  ],
  image_key_not_found: [404, 'There is no trusted key {name}.'],
} as const satisfies Record<string, readonly [number, string]>
