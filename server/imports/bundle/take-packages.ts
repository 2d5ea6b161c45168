import type { Catalog } from '../../catalog/catalog.ts'
import type { Changed } from '../../catalog/change.ts'
import { fail, isRefusal, type ErrorCode } from '../../core/errors.ts'
import { printRef, sha256 as asSha256, type Codename, type PackageRef } from '../../core/identity.ts'
import { receivedSha256, type Manifest } from '../../core/manifest.ts'
import type { Mark } from '../../core/mark.ts'
import { isRegistry, type Distribution } from '../../core/repository.ts'
import { together, type Spool, type SpooledFile } from '../../files/spool.ts'
import type { Format } from '../../formats/format.ts'
import { hasRegistries } from '../../formats/index.ts'
import { lasting } from '../../lib/pieces.ts'
import { passGate, type Gate } from '../../pipeline/gate.ts'
import type { RegistryIntake } from '../../pipeline/registry-intake.ts'
import { sayChanged } from '../run/changed.ts'
import { printRow, type BundledPackage, type RefRow } from './manifest.ts'
import type { OpenBundle } from './members.ts'
import type { Counts, ItemOutcome } from './senders.ts'

export interface TakePackagesDeps {
  readonly gate: Gate
  readonly spool: Pick<Spool, 'receive'>
  readonly catalog: Pick<Catalog, 'findKnown' | 'change'>
  /** The way into registries. */
  readonly intake: Pick<RegistryIntake, 'admit'>
  /** Formats that are switched on here. */
  readonly formats: readonly Format[]
  readonly distributionOf: (codename: string) => Distribution | undefined
  /** The largest package that this site takes. */
  readonly limitBytes: () => number
}

export interface TakeFrom {
  readonly bundle: OpenBundle
  readonly sender: string
  readonly by: string
  readonly ip: string
  readonly signal: AbortSignal
  /** Distributions that whoever imports does not see: as if they were not here. */
  readonly hidden: readonly string[]
  /** What an earlier run came to. */
  readonly done: readonly ItemOutcome[]
  /** Records what became of a package, in this order or another. */
  readonly note: (item: ItemOutcome) => Promise<void>
}

type Fate = Pick<ItemOutcome, 'outcome' | 'why'>

/** So many packages are in the gate at once. */
const AT_ONCE = 4
/** The tree follows when all are in. */
const PUBLISH_WITHIN_MS = 60_000
/** More packages would fail in the same way: the job ends, and goes on when it is asked for again. */
const ENDS: ReadonlySet<ErrorCode> = new Set(['storage_full', 'uploads_stopped', 'no_signing_key', 'bundle_refused'])

const refOf = ([format, codename, name, version, arch]: RefRow): PackageRef => ({
  format,
  codename: codename as Codename,
  name,
  version,
  arch,
})

const WORDS: Record<Exclude<Manifest['state'], 'published'>, string> = {
  pending_review: 'waits for review here',
  quarantined: 'is in quarantine here',
  rejected: 'was rejected here',
}

/** Sends the packages of a verified bundle through this site's own gate. */
export function takePackages(deps: TakePackagesDeps, from: TakeFrom) {
  const { bundle, signal, hidden } = from
  const { packages, assumes, registries } = bundle.manifest
  const marks = new Map((registries?.marks ?? []).map(({ of, mark }) => [of, mark]))
  const fates = new Map<number, Promise<Fate>>()

  /** Why it cannot go to this distribution. */
  function misplaced({ ref: [formatId, codename] }: BundledPackage): string | Distribution {
    const distribution = hidden.includes(codename) ? undefined : deps.distributionOf(codename)
    const format = deps.formats.find(({ id }) => id === formatId)
    const isOfRegistry = format !== undefined && hasRegistries(format)
    const what = isOfRegistry ? 'registry' : 'distribution'
    if (distribution === undefined) return `There is no ${what} ${codename} here; an admin can add it.`
    if (distribution.state === 'retired') return `The ${what} ${codename} is retired here and takes no packages.`
    if (distribution.format !== formatId || isRegistry(distribution) !== isOfRegistry)
      return `${codename} takes other packages here.`
    if (distribution.registry?.kind === 'group')
      return `The registry ${codename} is a group here, which takes no packages: they go into its members.`
    return distribution
  }

  async function spool({ files }: BundledPackage): Promise<SpooledFile> {
    const here: SpooledFile[] = []
    try {
      for (const { name, sha256 } of files) {
        const file = await deps.spool.receive(lasting(bundle.read(sha256, signal)), {
          filename: name,
          limitBytes: deps.limitBytes(),
          signal,
        })
        here.push(file)
        // a medium may be written to while it is read
        if (file.blob.sha256 !== sha256)
          fail('bundle_refused', { file: bundle.manifest.name, why: `${name} changed while it was read` })
      }
    } catch (error) {
      await Promise.all(here.map(file => file.discard()))
      throw error
    }
    const [main, ...beside] = here as [SpooledFile, ...SpooledFile[]]
    return beside.length === 0 ? main : together(main, beside)
  }

  /** What is known of it here already, without reading its bytes. */
  async function known({ ref, files }: BundledPackage): Promise<Fate | undefined> {
    const manifest = await deps.catalog.findKnown(refOf(ref))
    if (manifest === undefined) return undefined
    const [file, ...beside] = manifest.files
    const [first, ...more] = files
    const others = new Map(beside.map(({ path, blob }) => [path, blob.sha256 as string]))
    // of Maven the pom, whose jar may be the same
    const other = more.find(({ name, sha256 }) => (others.get(name) ?? sha256) !== sha256)
    const there = first?.sha256 !== receivedSha256(file) && first?.sha256 !== file.blob.sha256 ? first : other
    if (there !== undefined)
      return {
        outcome: 'upstream_changed',
        why: sayChanged('the bundle', {
          here: there === first ? receivedSha256(file) : (others.get(there.name) ?? ''),
          there: there.sha256,
        }),
      }
    if (manifest.state === 'published') return { outcome: 'already', why: null }
    return {
      outcome: manifest.state === 'pending_review' ? 'held' : 'refused',
      why: `It ${WORDS[manifest.state]}.`,
    }
  }

  /** Whether an assumed package is served here. */
  const isHere = async (ref: RefRow): Promise<Manifest['state'] | undefined> =>
    (await deps.catalog.findKnown(refOf(ref)))?.state

  /** What it needs and does not find here: the package is left out, or held where only a review stands between. */
  async function lack(seq: number, { needs = [] }: BundledPackage): Promise<(Fate & { isHeld: boolean }) | undefined> {
    for (const list of needs) {
      let isMet = false
      let held: RefRow | undefined
      let absent: RefRow | undefined
      for (const place of list) {
        const ref = packages[place]?.ref ?? assumes[place - packages.length]
        if (ref === undefined) continue
        let outcome: keyof Counts | undefined
        if (place < packages.length) {
          // of packages that need each other, one comes first
          if (place >= seq) outcome = 'published'
          else outcome = (await fates.get(place))?.outcome
          // the version is here, with the bytes that it came with first
          if (outcome === 'upstream_changed' && (await isHere(ref)) === 'published') outcome = 'already'
        } else {
          const state = await isHere(ref)
          outcome = state === 'published' ? 'already' : state === 'pending_review' ? 'held' : undefined
        }
        if (outcome === 'published' || outcome === 'already') isMet = true
        else if (outcome === 'held') held = ref
        else absent = ref
        if (isMet) break
      }
      if (isMet) continue
      if (held !== undefined)
        return { outcome: 'held', isHeld: true, why: `It needs ${printRow(held)}, which is held here.` }
      if (absent !== undefined)
        return { outcome: 'waits', isHeld: false, why: `It needs ${printRow(absent)}, which is not here.` }
    }
    return undefined
  }

  // the sender is known, its list is not believed: what others need would be taken to be there
  function needNamed(one: BundledPackage, { ref }: Pick<Manifest, 'ref'>): void {
    const said = refOf(one.ref)
    if (printRef(ref) !== printRef(said)) fail('bundle_other_package', { said: printRef(said), found: printRef(ref) })
  }

  /** The same for a registry, whose versions come in as their formats are published. */
  async function admitInto(
    registry: Distribution,
    given: {
      readonly one: BundledPackage
      readonly file: SpooledFile
      readonly mark: Mark
      readonly heldFor: string | undefined
    },
  ): Promise<Fate> {
    const { one, file, mark, heldFor } = given
    const changed = await deps.intake.admit(
      {
        ...{ registry, ref: refOf(one.ref), file, mark },
        publishedAt: one.published_at === undefined ? undefined : new Date(one.published_at).toISOString(),
        expectedSha256: asSha256(one.files[0]?.sha256 ?? ''),
        from: `source:bundle-${from.sender}`,
        actor: { name: from.by, ip: from.ip },
        publishWithinMs: PUBLISH_WITHIN_MS,
        check: ({ manifest }) => needNamed(one, manifest),
        ...(heldFor === undefined ? {} : { heldFor }),
      },
      signal,
    )
    return fateIn(changed)
  }

  async function admit(
    { one, seq }: { readonly one: BundledPackage; readonly seq: number },
    distribution: Distribution,
    heldFor: string | undefined,
  ): Promise<Fate> {
    const format = deps.formats.find(({ id }) => id === distribution.format)
    if (format === undefined) return { outcome: 'refused', why: `Packages of this format are switched off here.` }
    const file = await spool(one)
    if (isRegistry(distribution)) return admitInto(distribution, { one, file, mark: marks.get(seq) ?? {}, heldFor })
    if (!format.recognises(file.head)) {
      await file.discard()
      return { outcome: 'refused', why: 'It is no package of this format.' }
    }
    const component = distribution.components.includes(one.component ?? '') ? one.component : undefined
    const changed = await passGate(
      deps.gate,
      {
        file,
        format,
        distribution,
        expectedSha256: asSha256(one.files[0]?.sha256 ?? ''),
        actor: { name: from.by, ip: from.ip },
        from: `source:bundle-${from.sender}`,
        publishWithinMs: PUBLISH_WITHIN_MS,
        ...(component === undefined ? {} : { component }),
        ...(heldFor === undefined ? {} : { heldFor }),
      },
      signal,
      (change, actor) => {
        needNamed(one, change.manifest)
        return deps.catalog.change(change, actor)
      },
    )
    needNamed(one, changed.manifest)
    return fateIn(changed)
  }

  function fateIn(changed: Changed): Fate {
    const { state, review, reports } = changed.manifest
    if (state === 'published') return { outcome: changed.outcome === 'already' ? 'already' : 'published', why: null }
    const because = reports.filter(({ outcome }) => outcome !== 'ok').map(({ said }) => said)
    return {
      outcome: state === 'pending_review' ? 'held' : 'refused',
      why: review?.held_for ?? because.join(' ').slice(0, 900),
    }
  }

  async function fateOf(seq: number, one: BundledPackage): Promise<Fate> {
    const there = misplaced(one)
    if (typeof there === 'string') return { outcome: 'refused', why: there }
    const found = await known(one)
    if (found !== undefined) return found
    const lacking = await lack(seq, one)
    if (lacking !== undefined && !lacking.isHeld) return lacking
    try {
      return await admit({ one, seq }, there, lacking?.why ?? undefined)
    } catch (error) {
      if (!isRefusal(error) || ENDS.has(error.code)) throw error
      if (error.code === 'duplicate_conflict') return { outcome: 'upstream_changed', why: sayChanged('the bundle') }
      return { outcome: 'refused', why: error.message.slice(0, 900) }
    }
  }

  return async (): Promise<void> => {
    const earlier = new Map(from.done.map(({ seq, outcome, why }) => [seq, { outcome, why }]))
    const running = new Set<Promise<unknown>>()
    let broken: { readonly error: unknown } | undefined
    for (const [seq, one] of packages.entries()) {
      const was = earlier.get(seq)
      if (was !== undefined) {
        fates.set(seq, Promise.resolve(was))
        continue
      }
      while (running.size >= AT_ONCE) await Promise.race(running)
      if (broken !== undefined || signal.aborted) break
      const fate = fateOf(seq, one).then(async found => {
        await from.note({ seq, ...found })
        return found
      })
      fates.set(seq, fate)
      const ended = fate.then(
        () => undefined,
        (error: unknown) => {
          broken ??= { error }
        },
      )
      running.add(ended)
      void ended.then(() => running.delete(ended))
    }
    await Promise.all(running)
    signal.throwIfAborted()
    if (broken !== undefined) throw broken.error
  }
}
