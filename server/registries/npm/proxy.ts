import type { PackageRef } from '../../core/identity.ts'
import { isServed, type Manifest } from '../../core/manifest.ts'
import { compareSemver, isSemver } from '../../core/versions/semver.ts'
import { differenceFrom } from '../../formats/npm/difference.ts'
import { installScriptsOf } from '../../formats/npm/documents.ts'
import type { NpmFacts } from '../../formats/npm/facts.ts'
import { complainName, tarballName, versionIn } from '../../formats/npm/name.ts'
import type { Fields } from '../../lib/fields.ts'
import { Malformed } from '../../lib/limited.ts'
import type { RemoteRow } from '../../catalog/queries/remote-versions.ts'
import { actorOf } from '../admit.ts'
import { whyHeld, whyHidden, type Held } from '../held.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { nextRipe, staleHeaders, visibleOf, type RemoteName } from '../remote/remote.ts'
import { heldBack, noPackage, noVersion, withheld } from './answers.ts'
import { printDocument, printPiece, type Parts, type Piece } from './join.ts'
import { revisionOf, type Asked, type Documents } from './packument.ts'
import { refOf } from '../refs.ts'
import type { RemoteNpmAbout, RemoteNpmFacts } from './remote.ts'
import { LATEST } from './tags.ts'

/** pnpm and yarn give up after 30 to 60 s. */
const PATIENCE_MS = 25_000
/** So many documents of versions are read at a time; the largest have some 10 kB. */
const AT_ONCE = 100

type File = NonNullable<RemoteRow['file']>

/** `dist` as clients get it from here: the same bytes, by an address of this registry. */
function distOf(
  { digests: { sha1, sha512, sha256 } }: File,
  { dist }: RemoteNpmFacts,
  tarball: string,
): Readonly<Record<string, unknown>> {
  const [name, hex] = sha512 === undefined ? ['sha256', sha256] : ['sha512', sha512]
  return {
    ...(sha1 === undefined ? {} : { shasum: sha1 }),
    ...(hex === undefined ? {} : { integrity: `${name}-${Buffer.from(hex, 'hex').toString('base64')}` }),
    tarball,
    ...dist,
  }
}

function pieceOf(row: RemoteRow, { address, name }: Pick<Asked, 'address'> & { readonly name: string }): Piece[] {
  const { version, document, file } = row
  if (document === null || file === null) return []
  const facts = row.facts as unknown as RemoteNpmFacts
  const dist = distOf(file, facts, `${address}/${name}/-/${tarballName({ name, version })}`)
  return [{ version, document, dist, deprecated: facts.deprecated }]
}

/** Why clients do not get a version now; undefined where they do. */
function whyNot(
  row: RemoteRow,
  { registry, console, name, now }: Pick<Asked, 'registry' | 'console'> & { readonly name: string; readonly now: Date },
): Held | undefined {
  const visible = visibleOf(row, now)
  if (visible.is === 'served') return undefined
  return visible.is === 'held'
    ? whyHeld(visible.manifest, console)
    : whyHidden(visible.said, console, refOf({ registry }, name, row.version))
}

/**
 * The tags of the upstream without those that name what clients do not get: but `latest` names the highest release that
 * they get and that is not above the one it names there, or else such a prerelease.
 * @param served  oldest first by the order of the format
 */
export function visibleTags(
  upstream: Readonly<Record<string, string>>,
  served: readonly string[],
): ReadonlyMap<string, string> {
  const has = new Set(served)
  const tags = new Map(Object.entries(upstream).filter(([, version]) => has.has(version)))
  if (tags.has(LATEST)) return tags
  const top = Object.hasOwn(upstream, LATEST) ? upstream[LATEST] : undefined
  const isBelow = (version: string): boolean => top === undefined || !isSemver(top) || compareSemver(version, top) <= 0
  const latest = served.findLast(version => !version.includes('-') && isBelow(version)) ?? served.findLast(isBelow)
  return latest === undefined ? tags : new Map([[LATEST, latest], ...tags])
}

const tagsOf = ({ about }: Pick<RemoteName, 'about'>, rows: readonly RemoteRow[], now: Date) =>
  visibleTags(
    (about as unknown as Partial<RemoteNpmAbout>).tags ?? {},
    rows.filter(row => visibleOf(row, now).is === 'served').map(({ version }) => version),
  )

/** When a version came to be, for the order of documents: as the upstream says it, or when it was seen first. */
const momentOf = ({ published_at: published, seen_at: seen }: RemoteRow): Date => published ?? seen

/** Everything about a name but the documents of its versions. */
function partsOf(
  known: RemoteName,
  rows: readonly RemoteRow[],
  asked: Pick<Asked, 'registry' | 'console'> & { readonly now: Date },
): Omit<Parts, 'pieces' | 'latest'> & { readonly shown: readonly RemoteRow[] } {
  const { name, mark } = known
  const { now } = asked
  const isShown = (row: RemoteRow): boolean => visibleOf(row, now).is === 'served'
  const shown = rows.filter(isShown)
  const moments = shown.map(row => momentOf(row).getTime())
  return {
    ...{ name, revision: revisionOf(mark), shown },
    tags: tagsOf(known, rows, now),
    times: shown.flatMap(({ version, published_at: at }) => (at === null ? [] : [[version, at]])),
    // not what the upstream says: some say of each answer that it was changed just now
    created: new Date(moments.length === 0 ? 0 : Math.min(...moments)),
    modified: new Date(Math.max(0, ...moments)),
    withheld: rows
      .filter(row => !isShown(row))
      .map(row => ({ version: row.version, at: momentOf(row), why: () => whyNot(row, { ...asked, name }) })),
  }
}

/** A package of this name could be anywhere. */
const isName = (name: string): boolean => complainName(name) === undefined

const findIn = async (
  { remote }: Pick<ProtocolDeps, 'remote'>,
  registry: Asked['registry'],
  name: string,
): Promise<RemoteName | undefined> => (isName(name) ? remote.find(registry, name) : undefined)

/** Whether the upstream of a registry has a name. @throws what `Remote.find` throws */
export const hasRemoteName = async (...of: Parameters<typeof findIn>): Promise<boolean> =>
  (await findIn(...of)) !== undefined

/** The versions of a large document together have tens of megabytes: memory holds some at a time. */
async function* inTurns(
  rows: readonly RemoteRow[],
  read: (versions: readonly string[]) => Promise<readonly Piece[]>,
): AsyncGenerator<Piece> {
  for (let from = 0; from < rows.length; from += AT_ONCE)
    yield* await read(rows.slice(from, from + AT_ONCE).map(({ version }) => version))
}

/** Documents about what an upstream lists. */
export function createRemoteDocuments({
  remote,
  clock,
  kept,
}: Pick<ProtocolDeps, 'remote' | 'clock' | 'kept'>): Documents {
  const find = (registry: Asked['registry'], name: string): Promise<RemoteName | undefined> =>
    findIn({ remote }, registry, name)
  return {
    async find(asked, name, form, isPacked) {
      const { registry, address, console } = asked
      const known = await find(registry, name)
      if (known === undefined) return undefined
      const key = JSON.stringify([registry.codename, name, form, address, console, known.mark])
      const joined = await kept.get(key, isPacked, async () => {
        const [rows, now] = [await remote.rows(registry, name), clock.now()]
        const { shown, ...parts } = partsOf(known, rows, { registry, console, now })
        const piecesFor = async (versions: readonly string[]): Promise<Piece[]> =>
          (await remote.rows(registry, name, { form, version: versions })).flatMap(row =>
            pieceOf(row, { address, name }),
          )
        const [latest] = await piecesFor([...parts.tags].flatMap(([tag, version]) => (tag === LATEST ? [version] : [])))
        const pieces = inTurns(shown, piecesFor)
        return { texts: printDocument(form, { ...parts, latest, pieces }), until: nextRipe(rows, now) }
      })
      return { ...joined, headers: staleHeaders(known) }
    },
    async tags({ registry }, name) {
      const known = await find(registry, name)
      return known === undefined ? undefined : tagsOf(known, await remote.rows(registry, name), clock.now())
    },
    async version(asked, name, version) {
      const { registry, address } = asked
      const [row] = await remote.rows(registry, name, { form: 'full', version })
      if (row === undefined) return undefined
      const why = whyNot(row, { ...asked, name, now: clock.now() })
      return why ?? pieceOf(row, { address, name }).map(printPiece)[0]
    },
  }
}

/**
 * In what a tarball differs from what its upstream lists, where that decides what is installed: such a version waits
 * for a person, since a client that resolves from the list gets something else.
 */
function differenceOf({ facts, paths }: Manifest, { document, facts: listed }: RemoteRow): string | undefined {
  if (document === null) return undefined
  const inside = JSON.parse((facts as NpmFacts).full) as Fields
  const outside = JSON.parse(document) as Fields
  const { isShort } = listed as unknown as RemoteNpmFacts
  const hasScript = installScriptsOf(inside, paths).size > 0
  const isSame = isShort === true && hasScript === (outside['hasInstallScript'] === true)
  const said = 'the list of its upstream'
  try {
    const difference = differenceFrom(inside, isSame ? { ...outside, scripts: inside['scripts'] } : outside, {
      paths,
      said,
    })
    return difference === undefined ? undefined : `Its package.json and its upstream's list differ: ${difference}.`
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return `What its upstream lists of it cannot be read: ${error.why}.`
  }
}

async function bringIn(
  remote: ProtocolDeps['remote'],
  request: RegistryRequest,
  { ref, file }: { readonly ref: PackageRef; readonly file: File },
): Promise<Manifest> {
  const { registry } = request
  const [listed] = await remote.rows(registry, ref.name, { form: 'full', version: ref.version })
  const heldFor = (came: Manifest) => (listed === undefined ? undefined : differenceOf(came, listed))
  const by = { actor: actorOf(request.caller), patienceMs: PATIENCE_MS }
  return remote.bring(registry, { ref, files: [file], heldFor }, by)
}

/** The bytes of a version, by the name of its file: from here, or brought in now. */
export async function remoteTarball(
  { remote, catalog, clock }: Pick<ProtocolDeps, 'remote' | 'catalog' | 'clock'>,
  request: RegistryRequest,
  { name, file }: { readonly name: string; readonly file: string },
): Promise<RegistryAnswer> {
  const { registry, console } = request
  const { codename } = registry
  const version = versionIn(name, file)
  if (!isName(name)) return noPackage(name, codename)
  const rowOf = async (anyAge: boolean): Promise<RemoteRow | 'no package' | undefined> => {
    if ((await remote.find(registry, name, { anyAge })) === undefined) return 'no package'
    return version === undefined ? undefined : (await remote.rows(registry, name, { version }))[0]
  }
  // what it is does not change, so the upstream is asked only for a version that is not known
  const row = (await rowOf(true)) ?? (await rowOf(false))
  if (row === 'no package') return noPackage(name, codename)
  if (version === undefined || row === undefined || row.file === null) return noVersion(name, version ?? file, codename)
  const visible = visibleOf(row, clock.now())
  if (visible.is === 'held') return heldBack(visible.manifest, console)
  const ref = refOf(request, name, version)
  if (visible.is === 'hidden' && !visible.mayAsk) return withheld(whyHidden(visible.said, console, ref))
  const manifest = (await catalog.findKnown(ref)) ?? (await bringIn(remote, request, { ref, file: row.file }))
  if (!isServed(manifest.state)) return heldBack(manifest, console)
  const { sha256, size } = manifest.files[0].blob
  return { status: 200, type: 'application/octet-stream', body: { kind: 'blob', sha256, size } }
}
