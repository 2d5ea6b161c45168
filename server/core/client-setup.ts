import type { PackageKind } from './manifest.ts'

/** A file on a client, to be written as it is. */
export interface ConfigFile {
  readonly path: string
  readonly content: string
  /** It has a token in it, so only root may read it. */
  readonly secret?: true
}

/** The same for an image that is built. */
export interface DockerSetup {
  /** What stands in the Dockerfile after `FROM`; `PACKAGE` is to be replaced. */
  readonly lines: readonly string[]
  /** A file beside the Dockerfile that only the build reads, so that no layer has the token. */
  readonly secret: ConfigFile | null
  readonly build: string
}

/** Stands in every line where the token of the client belongs. */
export const TOKEN_PLACE = 'YOUR_TOKEN'
/** The user name beside a token; servers do not read it. */
export const TOKEN_USER = 'gatehouse'

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
  /** Prints the fingerprint of the key that the client fetched or fetches, in groups of four. */
  readonly check: string
  readonly docker: DockerSetup
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
  /** Distributions whose trees ask for a token: their lines have `TOKEN_PLACE`. */
  readonly privateTrees?: ReadonlySet<string>
}

/** A command that writes a file of any content; one with a token is readable by root alone. */
export const writeFileLine = ({ path, content, secret }: ConfigFile): string =>
  `sudo ${secret === true ? `install -m 0600 /dev/stdin ${path}` : `tee ${path} > /dev/null`} <<'EOF'\n${content}EOF`

/** The line of a Dockerfile that writes a file. */
export const copyFileLine = ({ path, content }: ConfigFile): string => `COPY <<'EOF' ${path}\n${content}EOF`

/**
 * The end of a Dockerfile: `run` installs. With a secret it is mounted for that one line, at `target` or where Docker
 * puts it.
 */
export function dockerSetup(
  before: readonly string[],
  run: string,
  secret?: { readonly content: string; readonly target?: string },
): DockerSetup {
  if (secret === undefined) return { lines: [...before, `RUN ${run}`], secret: null, build: 'docker build .' }
  const mount = `--mount=type=secret,id=gatehouse${secret.target === undefined ? '' : `,target=${secret.target}`}`
  return {
    lines: [...before, `RUN ${mount} ${run}`],
    secret: { path: 'gatehouse.secret', content: secret.content, secret: true },
    build: 'docker build --secret id=gatehouse,src=gatehouse.secret .',
  }
}
