import type { PackageKind } from './manifest.ts'

/** A file on a client, to be written as it is. */
export interface ConfigFile {
  readonly path: string
  readonly content: string
}

/** What a client adds that wants what others do not, beside the rest and at any time after it. */
export interface OptionalSetup {
  readonly kind: Exclude<PackageKind, 'binary'>
  readonly files: readonly ConfigFile[]
  readonly setup: readonly string[]
}

/**
 * What a person does once on a client, for one package manager: write `files` as they are, type `commands` in order.
 */
export interface ClientSetup {
  readonly manager: string
  /** The one line that names the repository: a `deb` line, a `baseurl`, an address. */
  readonly line: string
  /** Everything as shell commands, in order. */
  readonly setup: readonly string[]
  readonly files: readonly ConfigFile[]
  /** Empty where the format has nothing of the kind, or `files` have it already, switched off. */
  readonly optional: readonly OptionalSetup[]
  /** Refreshes the client's lists, which shows that the set-up works. */
  readonly refresh: string
}

/** What the lines depend on. */
export interface ClientFacts {
  /** Where clients reach this server, without a slash at the end. */
  readonly url: string
  /** Packages carry this server's own signature (`signing.rpm_packages`), so clients can require it. */
  readonly signedPackages?: boolean
  /** File names of the RSA public keys that sign indexes. */
  readonly rsaKeys?: readonly string[]
}

/** A command that writes a file of any content. */
export const writeFileLine = (path: string, content: string): string =>
  `sudo tee ${path} > /dev/null <<'EOF'\n${content}EOF`
