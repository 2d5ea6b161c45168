/** A version as it fits a row: the digest of an image is cut, since nobody reads 64 characters. */
export const shortVersion = (version: string): string =>
  /^sha(256|512):[0-9a-f]{32,}$/.test(version) ? version.slice(0, version.indexOf(':') + 13) : version
