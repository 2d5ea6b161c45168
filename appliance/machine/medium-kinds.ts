import { ARCHIVE_NAME } from '../../server/backup/archive-manifest.ts'
import type { MediumFile } from '../../server/machine/protocol.ts'

export type MediumKind = MediumFile['kind']

/** How many bytes of a file `mediumKind` asks for. */
export const HEAD_BYTES = 64

/** The folder of a stick whose files are vulnerability data, whatever they are called. */
const ADVISORIES = /^advisories\//i
/** What feeds call their files, and `npm run vulndb -- make` its bundle. */
const ADVISORY_NAMES =
  /^(?:vulndb-[\w.-]+\.tar|(?:[\w.-]*-)?all\.zip|osv[\w.-]*\.zip|(?:[\w.-]*-)?updateinfo\.xml|known_exploited_vulnerabilities|epss_scores[\w.-]*\.csv|nvdcve[\w.-]*\.json|csaf_(?:vex|advisories)[\w.-]*\.tar)(?:\.json|\.gz|\.xz|\.zst|\.bz2)?$/i

/** Each kind: its path on the stick, and how the file begins, where that is known. */
const KINDS: readonly (readonly [MediumKind, path: RegExp, head: RegExp | undefined])[] = [
  [
    'backup',
    new RegExp(ARCHIVE_NAME.source.replace('^', String.raw`(?:^|\/)`)),
    /^(?:age-encryption\.org\/v1\n|\x1f\x8b)/,
  ],
  // receipts, too: they are the way back of bundles
  ['bundle', /\.(?:bundle|receipt)\.tar$/, undefined],
  ['update', /\.gatehouse-update$/, undefined],
  ['signatures', /(?:^|\/)[A-Za-z0-9][\w.-]*\.c[vl]d$/i, /^ClamAV-VDB:/],
  ['seed', /^gatehouse\.ini$/, undefined],
]

/**
 * What a file of a stick is, by its name and how it begins; undefined: nothing of ours. It is not verified by that:
 * whoever takes it in does.
 * @param path  below the stick
 * @param head  reads its first bytes
 */
export async function mediumKind(path: string, head: () => Promise<Buffer>): Promise<MediumKind | undefined> {
  for (const [kind, name, begins] of KINDS)
    if (name.test(path) && (begins === undefined || begins.test((await head()).toString('latin1')))) return kind
  const name = path.slice(path.lastIndexOf('/') + 1)
  return ADVISORIES.test(path) || ADVISORY_NAMES.test(name) ? 'advisories' : undefined
}
