/** A file as `Sources` lists it. */
export interface ListedSource {
  readonly name: string
  readonly size: number
  readonly md5: string
  readonly sha1: string
  readonly sha256: string
  readonly sha512: string
}

/**
 * One entry of `Sources`, with a blank line behind it. The .dsc comes first, for people; apt finds it by its ending.
 * @param control the paragraph of the .dsc, as `parseDsc` gives it
 * @param directory where the files lie, from the root of the repository: `pool/bookworm/main/a/acme`
 * Source: https://wiki.debian.org/DebianRepository/Format, "Sources"; apt-ftparchive(1), dpkg-scansources(1).
 */
export function printStanza(control: string, directory: string, files: readonly ListedSource[]): string {
  const list = (field: string, digest: (file: ListedSource) => string): string =>
    `${field}:\n${files.map(file => ` ${digest(file)} ${file.size} ${file.name}\n`).join('')}`
  return [
    `${control}\nDirectory: ${directory}\n`,
    list('Files', file => file.md5),
    list('Checksums-Sha1', file => file.sha1),
    list('Checksums-Sha256', file => file.sha256),
    list('Checksums-Sha512', file => file.sha512),
    '\n',
  ].join('')
}
