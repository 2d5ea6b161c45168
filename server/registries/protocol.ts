import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Principal } from '../core/access.ts'
import type { Job } from '../core/feature.ts'
import type { Codename, FormatId, Sha256 } from '../core/identity.ts'
import type { Distribution } from '../core/repository.ts'
import type { Viewer } from '../core/viewer.ts'

/** What a caller wants with a registry: `read` installs, `write` publishes, `manage` removes. */
export type Intent = 'read' | 'write' | 'manage'

/** Who asks. */
export interface Caller {
  /** Undefined without a credential. */
  readonly who: Principal | undefined
  readonly viewer: Viewer
  readonly ip: string
  /**
   * Refuses what the caller may not do in this registry: by role, by the limits of the token, by the access of the
   * registry. `read` was asked before the protocol is called. Below the root alone there is no registry to ask about,
   * and only role and limits count.
   * @throws not_authenticated where a credential would help, forbidden, outside_scope, outside_distribution
   */
  need(intent: Intent): void
}

/** A request below the address of a registry. */
export interface RegistryRequest {
  readonly method: string
  /** Below the registry, each decoded: `['@s/n', '-', 'n-1.0.0.tgz']` for `/npm/ours/@s%2fn/-/n-1.0.0.tgz`. */
  readonly segments: readonly string[]
  /** True where the address ends with a slash. */
  readonly endsWithSlash: boolean
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The bytes as they come; unpacked where `Content-Encoding` is gzip. */
  readonly body: Readable
  readonly registry: Distribution
  /** The registry that the address names: of a member that answers for a group, the group. */
  readonly asked: Distribution
  readonly caller: Caller
  /** The registry's address as the client called it, without a slash at the end: `https://host/npm/ours`. */
  readonly address: string
  /** The console's address, without a slash at the end, for links to what is held (`whyHeld`). */
  readonly console: string
  readonly requestId: string
  /** Aborts when the client goes. */
  readonly signal: AbortSignal
}

/** A request below the root of a protocol that names no registry; `address` is that of the root. */
export type RootRequest = Omit<RegistryRequest, 'registry' | 'asked'>

/** The bytes of an answer; a file of the pool is sent with ranges, ETag and conditional requests. */
export type AnswerBody =
  | { readonly kind: 'bytes'; readonly bytes: Buffer | string }
  | { readonly kind: 'json'; readonly json: unknown }
  | { readonly kind: 'blob'; readonly sha256: Sha256; readonly size: number }
  | { readonly kind: 'file'; readonly path: string }

/** What a protocol answers. A HEAD gets the same without its body. */
export interface RegistryAnswer {
  readonly status: number
  /** The text after the status code, which many clients show: ASCII, one line, at most 120 characters; cut to that. */
  readonly reason?: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AnswerBody
  /** Sets an ETag of the body and answers 304 where the client has it. */
  readonly conditional?: true
}

/** A refusal that a protocol puts into its own words; the mount adds what asks for a credential. */
export interface Refusal {
  readonly status: number
  /** `version_not_found` */
  readonly code: string
  readonly detail: string
}

/** The members of a group that the caller may read. */
export interface Together {
  /** What is asked, as a request to each of them, in the order of the group. */
  readonly members: readonly RegistryRequest[]
  /**
   * Whether what a member says of one of these names counts: of a name of the house the word of its owner alone, of
   * others that of registries that read through.
   */
  speakers(names: readonly string[]): Promise<(member: Codename, name: string) => boolean>
}

/** What the clients of one format speak. One for each, in `registries/<id>/`. */
export interface RegistryProtocol {
  /** What the clock starts: what clients began and did not end. */
  readonly jobs?: readonly Job[]
  readonly format: FormatId
  /** The first segment of its addresses: `npm`, `pypi`, `maven`, `v2`. */
  readonly root: string
  /**
   * The header Authorization behind a credential that this protocol gave out itself, as a token of the OCI exchange;
   * `anonymous` where nobody is behind it, undefined for a credential that is none of its own. The mount checks what it
   * gives, so that a revoked token ends what it was exchanged for.
   * @throws bad_credential where it has expired or is forged
   */
  unwrap?(authorization: string): Promise<string | undefined>
  /** What asks a client for a credential, whether or not there is such a registry: the value of `WWW-Authenticate`. */
  challenge(
    request: Pick<RegistryRequest, 'address' | 'segments' | 'method'> & Partial<Pick<RegistryRequest, 'registry'>>,
  ): string
  /**
   * The package that an address is about, in the spelling of its rows; undefined where it is about none or several. It
   * says which member of a group answers.
   */
  nameOf(request: Pick<RegistryRequest, 'segments' | 'endsWithSlash'>): string | undefined
  /** Whether a request that is neither GET nor HEAD changes no package, as `npm audit`. Absent: none is such a one. */
  isQuestion?(request: Pick<RegistryRequest, 'segments' | 'method'>): boolean
  /**
   * What the members of a group answer together, where an address is about no name, or about more than that. Names of
   * the house are not asked for here. Undefined: they do not, and one of them answers, or nobody is asked.
   */
  join?(request: RegistryRequest, together: Together): Promise<RegistryAnswer | undefined>
  /**
   * Whether a registry that reads through finds a name at its upstream: in a group it alone answers for it then.
   * Absent: it is asked for each address, and one that it has not goes on to the next.
   * @throws what `Remote.find` throws
   */
  hasName?(request: Pick<RegistryRequest, 'registry'>, name: string): Promise<boolean>
  /** Undefined: no address of this protocol. */
  answer(request: RegistryRequest): Promise<RegistryAnswer | undefined>
  /** Addresses below the root that name no registry, as `/v2/` and `/v2/token`; undefined: none of them. */
  atRoot?(request: RootRequest): Promise<RegistryAnswer | undefined>
  /** An error as its clients read it. */
  refuse(refusal: Refusal): RegistryAnswer
}
