import type { Distribution } from '../core/repository.ts'
import type { FormatId, PackageIdentity, RelPath, Sha256 } from '../core/identity.ts'
import type { Description, PackageKind } from '../core/manifest.ts'
import type { Offered, Provided, Reach, Relation } from '../core/relation.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { Unpacked } from '../files/unpacked.ts'
import type { Signer } from '../signing/signer.ts'
import type { Fetches } from './fetches.ts'
import type { Marking } from './marking.ts'
import type { RegistryClient } from './registry-client.ts'
import type { ClientSide, Site } from './site.ts'
import type { Announcements, ClearSigned } from './announcements.ts'
import type { TreeWriter } from './tree.ts'
import type { UpstreamReader } from './upstream.ts'

/** The result of inspecting a package. `facts` is JSON that only its own format reads. */
export interface Inspection<Facts = unknown> {
  /** Absent for a package that is installed and run. */
  readonly kind?: PackageKind
  readonly identity: PackageIdentity
  readonly about: Description
  readonly facts: Facts
  /** Paths a client would install, relative, in archive order; kept for Contents and filelists. */
  readonly paths: readonly string[]
  /** The signature inside the package, if any; the signature step checks it. */
  readonly signature?: EmbeddedSignature
  /** The document that describes the package, signed by its developer; only where the format has one. */
  readonly clearsigned?: ClearSigned
}

/** A signature inside the package over bytes inside the package. */
export type EmbeddedSignature = OpenpgpSignature | RsaSignature

interface SignedBytes {
  readonly signature: Buffer
  /** The bytes that were signed, as a re-readable stream. */
  signed(): NodeJS.ReadableStream
}

/** Armoured or binary OpenPGP signature packet(s). */
export interface OpenpgpSignature extends SignedBytes {
  readonly kind: 'openpgp'
}

/** RSA, PKCS #1 v1.5. */
export interface RsaSignature extends SignedBytes {
  readonly kind: 'rsa'
  /** The file name under which clients keep the key. Nothing else names the signer. */
  readonly keyName: string
  readonly hash: 'sha1' | 'sha256' | 'sha512'
}

/** One inner archive, unpacked as far as an antivirus engine needs it: a plain tar, cpio or file. */
export interface InnerStream {
  /** `data.tar`, `control.tar`, `payload.cpio`: named in findings. */
  readonly name: string
  open(): AsyncIterable<Buffer>
  /** What runs its scripts, by their names, where the format keeps that beside them; also of scripts without text. */
  readonly interpreters?: ReadonlyMap<string, string>
  /** What installing makes of the files in it, by their paths, where the format keeps that beside them. */
  readonly files?: ReadonlyMap<string, InstalledAs>
  /** The digest of what it lies in, where other packages may have the same: a verdict about it is one about all. */
  readonly sha256?: Sha256
  /** Whether later streams remove or replace a path of it: engines look at all bytes, a client installs the rest. */
  readonly hides?: () => Promise<(path: string) => boolean>
}

/** What a format says of a file outside its payload; installing follows this. */
export interface InstalledAs {
  /** The permission bits. */
  readonly mode: number
  /** `root:adm` */
  readonly owner: string
  /** Of a symlink: where it leads. */
  readonly link?: string
  /** `cap_net_raw=ep` */
  readonly capabilities?: string
}

/** A file of a version that may hold signatures of another one. */
export interface SignatureFile {
  readonly mediaType: string
  /** `sha256:…` */
  readonly digest: string
  /** In bytes. */
  readonly size: number
  readonly annotations: Readonly<Record<string, string>>
}

/** How signatures of a version are kept as versions of their own. */
export interface SignedBeside<Facts> {
  /** Whether a registry may ask for a signature of it: not what is only about another one. */
  isSubject(facts: Facts): boolean
  /** The tags that name what is about a version. */
  tagsOf(version: string): readonly string[]
  filesOf(facts: Facts): readonly SignatureFile[]
}

/** Architectures as a format spells them. */
export interface FormatArchs {
  /** The architectures of a distribution by default. */
  readonly usual: readonly string[]
  /** The neutral ones, whose packages fit every architecture. */
  readonly neutral: readonly string[]
  /** All that a distribution may have. */
  readonly known: readonly string[]
}

/** What a format says of packages on machines of another architecture. */
export interface MultiArch<Facts> {
  reachOf(facts: Facts): Reach | undefined
  /** Whether an offer counts for a need on a machine. Neutral offers come as ones of the machine's architecture. */
  counts(offer: Pick<Offered, 'arch' | 'reach'>, need: Relation, machine: string): boolean
}

/**
 * A package format. Registered in `formats/index.ts`; promises are tested by `formats/contract-suite.ts`. The rest of
 * the server never checks which format it handles.
 */
/** What a package says of its licence, and whom it inherits that from where it says none. */
export interface Heir {
  readonly license?: string
  readonly parent?: { readonly name: string; readonly version: string }
}

export interface Format<Facts = unknown> {
  readonly id: FormatId
  readonly label: string
  /** The value of REPO_FORMAT that switches on this format alone. */
  readonly word: string
  /** Lower case, with the dot. */
  readonly endings: readonly string[]
  /**
   * From the first 512 bytes; no I/O. A format of registries is never chosen by them, since gzip and zip say too
   * little: the registry says which one reads a file, and this what it cannot be.
   */
  recognises(head: Uint8Array): boolean
  /**
   * Identity, relations and index facts in one pass over the file. Budgets: 32 MiB of control data, 8 GiB and 300,000
   * entries of payload. No clock: a busy machine must not refuse what a quiet one takes.
   * @param unpacked  keeps what is unpacked on the way, for `inner`
   * @throws bad_package; the signal's reason
   */
  inspect(file: SpooledFile, signal: AbortSignal, unpacked?: Pick<Unpacked, 'keep'>): Promise<Inspection<Facts>>
  /**
   * Every inner archive, for the antivirus step; the engine does not open the outer one.
   * @param unpacked  what `inspect` kept of the same file; the rest is unpacked again
   * @throws bad_package while read
   */
  inner(file: SpooledFile, unpacked?: Pick<Unpacked, 'read'>): AsyncIterable<InnerStream>
  /** <0, 0, >0 in the ecosystem's own order. */
  compareVersions(a: string, b: string): number
  /** Maps a version to a key that sorts by code point (`collate "C"`) as `compareVersions` does. */
  versionKey(version: string): string
  /** Whether clients take a version only where nothing else fits; absent where they make no difference. */
  isPreRelease?(version: string): boolean
  /**
   * The versions of its own name that a version is made of. Each passes the gate by itself, and not with it; absent
   * where a version is always one thing.
   */
  partsOf?(facts: Facts): readonly string[]
  /** True when name and version of `have` satisfy `need`. */
  satisfies(have: Provided, need: Relation): boolean
  /** Where packages of one architecture count on machines of another; absent: nowhere. */
  readonly multiArch?: MultiArch<Facts>
  /**
   * The path, as in `Inspection.paths`, of a need for a file: any package that contains the file satisfies it.
   * Undefined for other needs; absent where the format has no needs for files.
   */
  fileOf?(name: string): string | undefined
  /** Path below the distribution's pool: `main/h/hello/hello_1.0_amd64.deb`. @param component  of the distribution */
  poolName(identity: PackageIdentity, source: string, component: string): RelPath
  /**
   * Set where clients build a package's address from its name, its version and the architecture of the index. A neutral
   * package then has the same address as one for an architecture, so only one of them can exist.
   */
  readonly neutralSharesAddress?: true
  readonly archs: FormatArchs
  /**
   * Whether packages of this format have a field for their licence, so that one without it declares none. Absent: they
   * have not, and saying none means nothing.
   */
  declaresLicence?(facts: Facts): boolean
  /** Of formats whose packages inherit what they do not say themselves; absent: nothing is inherited. */
  readonly licenceHeir?: {
    /** Whom a package inherits from, by its facts. */
    of(facts: Facts): Pick<Heir, 'parent'>
    /** The same, and its licence, of a document that its upstream has; undefined where that cannot be read. */
    read(document: string): Heir | undefined
  }
  /** True where its trees have parts beside `main`, with indexes of their own. */
  readonly hasComponents: boolean
  /** The component that a package asks for itself, as `Section: contrib/net` does. */
  componentOf?(about: Pick<Description, 'section'>): string | undefined
  /** @param about names the source package, which is part of the address where advisories are about sources */
  purl(
    identity: PackageIdentity,
    distribution: Distribution,
    about?: Pick<Description, 'source' | 'source_version'>,
  ): string
  /**
   * How a client gets a package: installs it, or fetches the source.
   * @param asked.manager  which of the format's package managers; its usual one when absent
   * @param asked.kind  of the package; `binary` when absent
   */
  installCommand(
    identity: PackageIdentity,
    asked?: { readonly manager?: string; readonly kind?: PackageKind; readonly place?: string },
  ): string
  /**
   * Replaces any signature in the package by this repository's. Gives the new bytes and their facts. Absent where the
   * format signs only its index. @throws bad_package
   */
  sign?(
    file: SpooledFile,
    made: { readonly facts: Facts; readonly signer: Signer },
  ): Promise<{ readonly bytes: AsyncIterable<Buffer>; readonly facts: Facts }>
  /** Reads developers' announcements; absent where the format has none. */
  readonly announcements?: Announcements
  /** The layout of its signed tree; absent while this build cannot publish it. */
  readonly tree?: TreeWriter
  /** Reads repositories of this format that others publish; absent while this build cannot. */
  readonly upstream?: UpstreamReader
  /** Signatures that come beside a version, by somebody's key; absent where the format knows none. */
  readonly signing?: SignedBeside<Facts>
  /** Where clients fetch its trees from; absent where the format has registries. */
  readonly site?: Site
  /** How clients of its trees are set up; absent where the format has registries. */
  readonly client?: ClientSide
  /** How clients of its registries are set up; set where the format has registries, and only there. */
  readonly registryClient?: RegistryClient
  /** Which requests of its registries are downloads; set where the format has registries, and only there. */
  readonly fetches?: Fetches
  /** How a served version is marked as one that people should leave; absent where clients know no such mark. */
  readonly marking?: Marking<Facts>
  /** Why clients of its registries could not use this tag, or undefined; absent where they take any. */
  complainTag?(tag: string): string | undefined
  /** A package to try the way with, the same bytes each time; absent where this build makes none. */
  sample?(): { readonly filename: string; readonly bytes: Buffer }
  /** Why a name, version or architecture is refused, or undefined. */
  complain(identity: PackageIdentity): string | undefined
  /**
   * Why an identity that `complain` takes is refused where it is published here, or undefined; older packages of others
   * have such names. Absent where the rules never changed.
   */
  complainNew?(identity: PackageIdentity): string | undefined
}
