/** The facts about an .apk, beside its blob, that an APKINDEX entry contains: named as in .PKGINFO. */
export interface ApkFacts {
  /** `Q1` and the base64 of the SHA-1 over the control member as it lies in the file (apk-tools, "C:"). */
  readonly checksum: string
  readonly description: string
  readonly url: string
  readonly license: string
  readonly origin: string
  readonly maintainer: string
  readonly commit: string
  /** Seconds since 1970. */
  readonly built: number
  /** Bytes once installed. */
  readonly installed: number
  readonly depends: readonly string[]
  readonly provides: readonly string[]
  readonly replaces: readonly string[]
  readonly installIf: readonly string[]
  readonly providerPriority?: number
  readonly replacesPriority?: number
}
