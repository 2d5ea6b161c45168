/**
 * What a person does once on a client, for one package manager. `files` are written as they are, `commands` typed in
 * order.
 */
export interface ClientSetup {
  readonly manager: string
  /** The one line that names the repository: a `deb` line, a `baseurl`, an address. */
  readonly line: string
  /** Everything as shell commands, in order. */
  readonly setup: readonly string[]
  readonly files: readonly { readonly path: string; readonly content: string }[]
  /** Brings the client's lists up to date: the proof that it works. */
  readonly refresh: string
}

/** What the lines depend on. */
export interface ClientFacts {
  /** Where clients reach this server, without a slash at the end. */
  readonly url: string
  /** Packages carry this server's own signature (`signing.rpm_packages`), so that clients can insist on it. */
  readonly signedPackages?: boolean
  /** File names of the RSA public keys that sign indexes. */
  readonly rsaKeys?: readonly string[]
}

/** A file written by a shell, whatever is in it. */
export const writeFileLine = (path: string, content: string): string =>
  `sudo tee ${path} > /dev/null <<'EOF'\n${content}EOF`
