/** A version as it fits a row: the digest of an image is cut, since nobody reads 64 characters. */
export const shortVersion = (version: string): string =>
  /^sha(256|512):[0-9a-f]{32,}$/.test(version) ? version.slice(0, version.indexOf(':') + 13) : version

/** A tag as it fits a row: those under which cosign keeps signatures hold a whole digest. */
export const shortTag = (tag: string): string => tag.replace(/^(sha256-[0-9a-f]{8})[0-9a-f]{56}/, '$1…')
