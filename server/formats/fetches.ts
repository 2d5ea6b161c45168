/** What an address of a registry gives, as far as the address says. */
export interface Fetched {
  readonly name: string
  /** As the catalogue has it; where `isReference` is set, what stands for a version there. */
  readonly version: string
  /** Absent where the address does not say it. */
  readonly arch?: string
  /** Which of a version's files it is; absent where a version has one. */
  readonly file?: string
  /** Clients read it beside what they fetch: it is a download only where it is the main file of a version. */
  readonly isBeside?: boolean
  /** What the address says moves from one version to another, as a tag does. */
  readonly isReference?: true
}

/** Which requests of a format's registries are downloads of packages. Pure: an address is all it knows. */
export interface Fetches {
  /**
   * Whether a GET that is answered in full may give a package; asked for each line of an access log.
   * @param path  below the server, percent-encoded
   */
  isFetch(path: string): boolean
  /** @param segments  below the registry, decoded. @returns undefined for what gives no package */
  place(segments: readonly string[]): Fetched | undefined
}
