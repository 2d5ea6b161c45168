import type { Catalog } from '../../catalog/catalog.ts'
import { fail, isRefusal, type ErrorCode } from '../../core/errors.ts'
import { printRef, sha256 as asSha256, type Codename, type PackageRef } from '../../core/identity.ts'
import { receivedSha256, type Manifest } from '../../core/manifest.ts'
import type { Distribution } from '../../core/repository.ts'
import { together, type Spool, type SpooledFile } from '../../files/spool.ts'
import type { Format } from '../../formats/format.ts'
import { lasting } from '../../lib/pieces.ts'
import { passGate, type Gate } from '../../pipeline/gate.ts'
import { sayChanged } from '../run/changed.ts'
import { printRow, type BundledPackage, type RefRow } from './manifest.ts'
import type { OpenBundle } from './members.ts'
import type { Counts, ItemOutcome } from './senders.ts'

export interface TakePackagesDeps {
  readonly gate: Gate
  readonly spool: Pick<Spool, 'receive'>
  readonly catalog: Pick<Catalog, 'findKnown' | 'change'>
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
  const { packages, assumes } = bundle.manifest
  const fates = new Map<number, Promise<Fate>>()

  /** Why it cannot go to this distribution. */
  function misplaced({ ref: [formatId, codename] }: BundledPackage): string | Distribution {
    const distribution = hidden.includes(codename) ? undefined : deps.distributionOf(codename)
    if (distribution === undefined) return `There is no distribution ${codename} here; an admin can add it.`
    if (distribution.state === 'retired') return `The distribution ${codename} is retired here and takes no packages.`
    if (distribution.format !== formatId) return `The distribution ${codename} takes other packages here.`
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
  async function known({ ref, files: [first] }: BundledPackage): Promise<Fate | undefined> {
    const manifest = await deps.catalog.findKnown(refOf(ref))
    if (manifest === undefined) return undefined
    const [file] = manifest.files
    if (first?.sha256 !== receivedSha256(file) && first?.sha256 !== file.blob.sha256)
      return {
        outcome: 'upstream_changed',
        why: sayChanged('the bundle', { here: receivedSha256(file), there: first?.sha256 ?? '' }),
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

  async function admit(one: BundledPackage, distribution: Distribution, heldFor: string | undefined): Promise<Fate> {
    const format = deps.formats.find(({ id }) => id === distribution.format)
    if (format === undefined) return { outcome: 'refused', why: `Packages of this format are switched off here.` }
    const file = await spool(one)
    if (!format.recognises(file.head)) {
      await file.discard()
      return { outcome: 'refused', why: 'It is no package of this format.' }
    }
    const component = distribution.components.includes(one.component ?? '') ? one.component : undefined
    // the sender is known, its list is not believed: what others need would be taken to be there
    const needNamed = ({ ref }: Pick<Manifest, 'ref'>): void => {
      const said = refOf(one.ref)
      if (printRef(ref) !== printRef(said)) fail('bundle_other_package', { said: printRef(said), found: printRef(ref) })
    }
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
        needNamed(change.manifest)
        return deps.catalog.change(change, actor)
      },
    )
    needNamed(changed.manifest)
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
      return await admit(one, there, lacking?.why ?? undefined)
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
