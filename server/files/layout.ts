import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Codename, FormatId, PackageName, PackageRef, RelPath, Sha256 } from '../core/identity.ts'
import { relPath } from '../core/identity.ts'

/**
 * Every path below `/repos`, and the only place that joins one:
 *
 *     /repos
 *     ├── pool/ab/cd/<sha256>                      blobs; immutable; also of held packages
 *     ├── quarantine/<sha256>                      blobs of quarantined and rejected packages; never in a tree
 *     ├── manifests/<format>/<codename>/<name>/<version>_<arch>.json     and tags.json, where it has any
 *     ├── documents/<codename>/…                   what comes with packages: translations, comps (`files/documents.ts`)
 *     ├── trees/<codename>/<n>/…                   generations; immutable once renamed from <n>.part
 *     ├── trees/.shards/ab/<digest>.<kind>         compressed pieces of indexes, a cache
 *     ├── trees/<codename>/by-hash/…               indexes by digest, shared by the generations, kept an hour: as files
 *     │                                            or as recipes, `.<name>.parts` (`files/recipes.ts`)
 *     ├── apt/dists/<codename> ─▶ ../../trees/<codename>/<n>     the commit point: one rename of a link
 *     ├── apt/pool/<codename>/main/h/hello/…       hard links to blobs, made before the commit
 *     ├── apt/pool/main/h/hello/…                  only with APT_PUBLISHER=reprepro, database in trees/.reprepro
 *     ├── rpm/dists/<codename> ─▶ …   rpm/pool/<codename>/h/…            the same for RPM,
 *     ├── apk/dists/<codename> ─▶ …   apk/pool/<codename>/main/x86_64/…   and for APK, with apk/keys/<name>.rsa.pub
 *     ├── incoming/<id>                            uploads on their way in; empty after a start
 *     │                                            of several replicas, incoming/<instance>.<id>
 *     ├── console/releases/                        versions of the desktop program, put there by an admin
 *     ├── bundles/made/<name>.bundle.tar           for sites without a network; bundles/uploads/<id> arrive in pieces
 *     ├── logs/gatehouse-<machine>.log   trees-<machine>.log     and those before them (`record/log-series.ts`)
 *     ├── audit/YYYY-MM-DD.jsonl   keyring/   security/   backups/   settings.json   distributions.json
 *     ├── .reserve                                 room that is given back when the disk is full
 *     └── .secrets/   .pg/   gpg.key   .running   .replicas/   who runs on it (`files/root-lock.ts`, `joined-root.ts`)
 *         .imports/<digest>   packages of other repositories on their way here, also halves of them;
 *                             catalogue-<source>/ what is read of an index and not written yet
 *         .uploads/<id>   blobs that arrive at a registry in pieces
 *         .deploys/<id>       files of a Maven version that come one by one (`registries/maven/`)
 *         .rebuilding     the database is being made again from the manifests; the next start goes on with it
 *
 * Served over HTTP, by `http/trees.ts` or nginx: what lies in `apt/`, `rpm/`, `apk/`, the files by digest, and
 * `gpg.key`; nothing else.
 */
export interface Layout {
  readonly root: string
  readonly pool: string
  readonly quarantine: string
  readonly manifests: string
  /** What came with a package set: see `files/documents.ts`. */
  readonly documents: string
  readonly trees: string
  readonly shards: string
  readonly incoming: string
  /** Package files of other repositories, by their digests, until they pass the gate; halves stay for a day. */
  readonly imports: string
  /** Blobs of registries that arrive in pieces, over several requests. */
  readonly uploads: string
  /** Files of versions of Maven registries that are not whole yet, until they pass the gate. */
  readonly deploys: string
  readonly audit: string
  readonly keyring: string
  readonly security: string
  readonly backups: string
  /** Versions of the desktop program, as their vendor signed them. */
  readonly consoleReleases: string
  /** Bundles that were made here, and those that arrive in pieces. */
  readonly bundles: string
  readonly secrets: string
  readonly database: string
  /** Room that is given back when the disk is full. */
  readonly reserve: string
  /** There while a rebuild from the manifests is under way. */
  readonly rebuilding: string
  readonly settingsFile: string
  /** An admin's definitions of distributions. */
  readonly distributionsFile: string
  readonly publicKey: string
  /** reprepro's database, where it writes the APT indexes. */
  readonly reprepro: string
  /** Everything below `/repos/pool/`. */
  readonly aptPool: string
  /** Public keys of APK indexes, by the name that the indexes give them. */
  readonly apkKeys: string
  blob(digest: Sha256): string
  quarantined(digest: Sha256): string
  manifest(ref: PackageRef): string
  tags(of: PackageName): string
  manifestFolder(format: FormatId, codename: Codename): string
  generation(codename: Codename, n: number): string
  /** The link whose target is the live generation. */
  live(codename: Codename): string
  /** Indexes by their digest, for clients that hold an older root. */
  byHash(codename: Codename): string
  /** Where clients fetch packages of one distribution. */
  publishedFolder(codename: Codename): string
  /** A path inside it, such as `main/h/hello/hello_1.0_amd64.deb`. */
  published(codename: Codename, path: RelPath): string
}

/** What the tags of a package are in, beside its manifests, whose names have an underscore. */
export const TAGS_FILE = 'tags.json'

/**
 * A file name for anything a package may be called: what is not plain is percent-encoded, so `1:2.0~rc1/x` stays one
 * segment and two names never share one. What would be longer than 120 bytes ends in its SHA-256 instead.
 */
function fileSegment(text: string): string {
  const plain = text.replace(/[^A-Za-z0-9+.~_-]/g, char =>
    [...Buffer.from(char)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  )
  if (plain.length > 120) return `${plain.slice(0, 50)}%${createHash('sha256').update(text).digest('hex')}`
  return plain.startsWith('.') ? `%2e${plain.slice(1)}` : plain
}

/** The folder below the root in which the trees and packages of a distribution lie: `apt`. */
export type TreeFolder = (codename: Codename) => string

/** The paths below one root. @param folderOf  what the formats of the distributions say */
export function createLayout(root: string, folderOf: TreeFolder): Layout {
  const at = (...parts: string[]): string => join(root, ...parts)
  function publishedFolder(codename: Codename): string {
    return at(folderOf(codename), 'pool', codename)
  }
  return {
    root,
    pool: at('pool'),
    quarantine: at('quarantine'),
    manifests: at('manifests'),
    documents: at('documents'),
    trees: at('trees'),
    shards: at('trees', '.shards'),
    incoming: at('incoming'),
    imports: at('.imports'),
    uploads: at('.uploads'),
    deploys: at('.deploys'),
    audit: at('audit'),
    keyring: at('keyring'),
    security: at('security'),
    backups: at('backups'),
    consoleReleases: at('console/releases'),
    bundles: at('bundles'),
    secrets: at('.secrets'),
    database: at('.pg'),
    reserve: at('.reserve'),
    rebuilding: at('.rebuilding'),
    settingsFile: at('settings.json'),
    distributionsFile: at('distributions.json'),
    publicKey: at('gpg.key'),
    reprepro: at('trees', '.reprepro'),
    aptPool: at('apt', 'pool'),
    apkKeys: at('apk', 'keys'),
    blob: digest => at('pool', digest.slice(0, 2), digest.slice(2, 4), digest),
    quarantined: digest => at('quarantine', digest),
    manifest: ref =>
      at(
        'manifests',
        ref.format,
        ref.codename,
        fileSegment(ref.name),
        `${fileSegment(ref.version)}_${fileSegment(ref.arch)}.json`,
      ),
    tags: of => at('manifests', of.format, of.codename, fileSegment(of.name), TAGS_FILE),
    manifestFolder: (format, codename) => at('manifests', format, codename),
    generation: (codename, n) => at('trees', codename, String(n)),
    live: codename => at(folderOf(codename), 'dists', codename),
    byHash: codename => at('trees', codename, 'by-hash'),
    publishedFolder,
    published: (codename, path) => join(publishedFolder(codename), relPath(path)),
  }
}
