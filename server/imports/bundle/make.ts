import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../core/errors.ts'
import { sha256 as asSha256 } from '../../core/identity.ts'
import { listStopped } from '../../catalog/queries/carried.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Run, WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import { space } from '../../lib/disk-space.ts'
import type { Audit } from '../../record/audit.ts'
import type { Keyring } from '../../signing/signer.ts'
import { listGroups } from '../run/groups.ts'
import { chooseFor, type Base, type Choice } from './choose.ts'
import { gatherData, type GatherDeps, type GatheredData } from './gather-data.ts'
import {
  bundleName,
  BUNDLE_ENDING,
  keyOfRow,
  MOST_TAGS_OF_NAME,
  printRow,
  type BundleManifest,
  type Receipt,
} from './manifest.ts'
import { closureOf, listPublished, newestOf, type Known, type Published } from './published.ts'
import { isOfRegistry, namedIn, nameKeyOfRow, readings, registryClosure, type TagsOf } from './registry-closure.ts'
import { tagsHere, wordsIn } from './registry-words.ts'
import { findSite, isWithin, noteMade, readLastReceipt, readSent, type Site } from './sites.ts'
import { steadily } from './steadily.ts'
import { DamagedMember, writeBundle } from './write-bundle.ts'

export const MAKE = 'bundle-make'

/** What a new bundle leaves out: nothing; what the receipt says is there; that, and what later bundles brought. */
export const BASES = ['receipt', 'bundle', 'all'] as const

export interface MakeRequest {
  readonly site: string
  readonly base: (typeof BASES)[number]
  /** Distributions and registries. */
  readonly codenames: readonly string[]
  /** Names, and what was imported together: only they and what they need; both absent: all in these distributions. */
  readonly packages?: readonly string[]
  readonly groups?: readonly string[]
  readonly vulnerability: boolean
  readonly antivirus: boolean
  readonly ip: string
}

export interface MakeDeps extends Known, GatherDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'bundles' | 'blob' | 'root'>
  readonly keyring: Pick<Keyring, 'signer'>
  readonly audit: Pick<Audit, 'record'>
  readonly clock: Clock
  readonly version: string
  /** This installation. */
  readonly sender: () => Promise<{ readonly id: string; readonly name: string }>
}

export interface MadeBundle {
  readonly id: number
  readonly name: string
  readonly number: number
  readonly packages: number
  readonly size: number
  /** How many packages the site has with other bytes. */
  readonly different: number
}

export const madeFile = ({ bundles }: Pick<Layout, 'bundles'>, name: string): string =>
  join(bundles, 'made', `${name}${BUNDLE_ENDING}`)

const NAMED = 20
const MB = 1024 ** 2

/** What the site is taken to have, and what the bundle says of that. */
export async function baseFor(
  db: Db,
  site: Site,
  kind: MakeRequest['base'],
): Promise<Base & { readonly basedOn: BundleManifest['based_on']; readonly receipt: Receipt | undefined }> {
  const receipt = kind === 'all' ? undefined : await readLastReceipt(db, site.id)
  const sent = new Set<string>()
  if (kind === 'bundle')
    for (const { packages } of await readSent(db, site.id, receipt?.number ?? 0))
      for (const { ref } of packages) sent.add(keyOfRow(ref))
  // without a receipt nothing is known to be there
  const isAll = kind === 'all' || (kind === 'receipt' && receipt === undefined)
  return {
    there: new Map((receipt?.packages ?? []).map(({ ref, sha256 }) => [keyOfRow(ref), sha256])),
    sent,
    words: wordsIn(receipt),
    receipt,
    basedOn: {
      kind: isAll ? 'all' : kind,
      number: isAll ? 0 : kind === 'bundle' ? site.last_number : (receipt?.number ?? 0),
      receipt: receipt?.created_at ?? null,
      since: receipt?.number ?? 0,
      partial: false,
    },
  }
}

type Wish = Pick<MakeRequest, 'codenames' | 'packages' | 'groups'>
const isChoice = ({ packages, groups }: Pick<Wish, 'packages' | 'groups'>): boolean =>
  packages !== undefined || groups !== undefined

/** What of a group is published. @throws import_group_not_found, bundle_group_empty */
async function inGroup({ db }: Known, group: string, { codenames }: Wish, all: readonly Published[]) {
  const [found] = await listGroups(db, ALL_SEEING, group)
  if (found === undefined || !codenames.includes(found.codename)) return fail('import_group_not_found', { group })
  const keys = new Set(
    found.packages.map(one => keyOfRow([one.format, found.codename, one.name, one.version, one.arch])),
  )
  const published = all.filter(({ ref }) => keys.has(keyOfRow(ref)))
  return published.length === 0 ? fail('bundle_group_empty', { group }) : published
}

/**
 * Says why nothing is published under these texts.
 * @throws bundle_unknown_packages, bundle_held_packages, bundle_withheld_packages
 */
async function failUnknown({ db }: Known, codenames: readonly string[], texts: readonly string[]): Promise<never> {
  const asked = texts.map(text => ({ text, ways: readings(text) }))
  const names = [...new Set(asked.flatMap(({ ways }) => ways.map(({ name }) => name)))]
  const stopped = await listStopped(db, ALL_SEEING, { codenames, names })
  const found = asked.map(({ text, ways }) => ({
    text,
    rows: stopped.filter(row =>
      ways.some(({ name, version }) => row.name === name && (version ?? row.version) === row.version),
    ),
  }))
  const print = (list: typeof found): string => list.map(({ text }) => text).join(', ')
  const unknown = found.filter(({ rows }) => rows.length === 0)
  if (unknown.length > 0) fail('bundle_unknown_packages', { names: print(unknown) })
  const held = found.filter(({ rows }) => rows.some(({ state }) => state === 'pending_review'))
  if (held.length > 0) fail('bundle_held_packages', { names: print(held) })
  return fail('bundle_withheld_packages', { names: print(found) })
}

/**
 * What is asked for, before what the site has is left out.
 * @throws as `failUnknown`; import_group_not_found, bundle_group_empty
 */
export async function wantedOf(deps: Known, wish: Wish, signal: AbortSignal): Promise<readonly Published[]> {
  const { codenames, packages = [], groups = [] } = wish
  const all = await listPublished(deps, codenames)
  if (!isChoice(wish)) return all
  const ofTrees = all.filter(one => !isOfRegistry(one))
  const tags = Map.groupBy(await tagsHere(deps, all), one => nameKeyOfRow([one.format, one.codename, one.name, '', '']))
  const tagsOf: TagsOf = key => tags.get(key) ?? []
  const roots: Published[] = []
  const unknown: string[] = []
  for (const name of packages) {
    const named = [...newestOf(ofTrees, [name]), ...namedIn(deps, all, tagsOf, name)]
    if (named.length === 0) unknown.push(name)
    roots.push(...named)
  }
  if (unknown.length > 0) await failUnknown(deps, codenames, unknown)
  for (const group of groups) roots.push(...(await inGroup(deps, group, wish, all)))
  const chosen = [...new Set(roots)]
  const trees = await closureOf(deps, { all, roots: chosen.filter(one => !isOfRegistry(one)) }, signal)
  return [...trees, ...(await registryClosure(deps, { all, roots: chosen, tagsOf }, signal))]
}

async function tellChoice(
  run: Run<never>,
  { packages, assumes, different, words }: Choice,
  { basedOn }: { readonly basedOn: BundleManifest['based_on'] },
): Promise<void> {
  const named = different.slice(0, NAMED).map(printRow).join(', ')
  await run.step({
    total: packages.length,
    say: [
      {
        level: 'info',
        message: `${packages.length} packages go along; ${assumes.length} are taken to be there${basedOn.receipt === null ? '' : ` by the receipt of ${basedOn.receipt.slice(0, 10)}`}.`,
      },
      ...(words === undefined || words.tags.length + words.marks.length === 0
        ? []
        : [
            {
              level: 'info' as const,
              message: `Of registries ${words.tags.length} tags go along, and what is said of ${words.marks.length} versions.`,
            },
          ]),
      ...(words === undefined || words.gone === 0
        ? []
        : [
            {
              level: 'info' as const,
              message: `Tags that are gone here, and that the site has from here: ${words.gone}.`,
            },
          ]),
      ...(words?.cut ?? []).map(name => ({
        level: 'warning' as const,
        message: `Only the newest ${MOST_TAGS_OF_NAME} tags of ${name} go along.`,
      })),
      ...(different.length === 0
        ? []
        : [
            {
              level: 'warning' as const,
              message: `The site has ${different.length} versions with other bytes than here, and would refuse ours: ${named}${different.length > NAMED ? ', …' : ''}.`,
            },
          ]),
    ],
  })
}

async function needRoom({ layout }: MakeDeps, bytes: number): Promise<void> {
  const { freeBytes } = await space(layout.root)
  if (freeBytes < bytes)
    fail('bundle_no_room', { needs_mb: Math.ceil(bytes / MB), free_mb: Math.floor(freeBytes / MB) })
}

/** The members, each once, with where they lie. */
function membersOf({ layout }: MakeDeps, { published }: Choice, gathered: GatheredData) {
  const files = new Map<string, number>()
  for (const { sha256, size } of published.flatMap(one => one.files)) files.set(sha256, size)
  for (const [sha256, { size }] of gathered.paths) files.set(sha256, size)
  return {
    // data first: packages are judged by them
    files: [...files].map(([sha256, size]) => ({ sha256, size })),
    bytes: [...files.values()].reduce((sum, size) => sum + size, 0),
    pathOf: (sha256: string): string => gathered.paths.get(sha256)?.path ?? layout.blob(asSha256(sha256)),
  }
}

async function make(deps: MakeDeps, run: Run<never>, request: MakeRequest, scratch: string): Promise<MadeBundle> {
  const { db, layout, keyring, clock, version, audit } = deps
  const { signal } = run
  const site = (await findSite(db, request.site)) ?? fail('bundle_site_not_found', { site: request.site })
  const signer = await keyring.signer()
  const base = await baseFor(db, site, request.base)
  const choice = await chooseFor(deps, await wantedOf(deps, request, signal), base, signal)
  await tellChoice(run, choice, base)
  const loaded = new Set(base.receipt?.data)
  const gathered = await gatherData(deps, { ...request, loaded, scratch, signal, told: () => run.step({}) })
  await run.step({ say: gathered.say })
  const { packages, assumes, different, words } = choice
  const said = (words?.tags.length ?? 0) + (words?.marks.length ?? 0) + (words?.gone ?? 0)
  if (packages.length + said === 0 && gathered.data.length === 0) fail('bundle_empty', { site: site.name })
  const { files, bytes, pathOf } = membersOf(deps, choice, gathered)
  await needRoom(deps, bytes)
  const number = site.last_number + 1
  const after = base.basedOn.since
  const isWhole = !isChoice(request) && (await isWithin(db, site.id, { after, codenames: request.codenames }))
  const manifest: BundleManifest = {
    format: words === undefined ? 1 : 2,
    kind: 'bundle',
    name: bundleName(site.name, number),
    site: site.name,
    number,
    created_at: isoNow(clock),
    version,
    sender: await deps.sender(),
    based_on: { ...base.basedOn, partial: !isWhole },
    packages: [...packages],
    assumes: [...assumes],
    ...(words === undefined ? {} : { registries: { tags: words.tags, marks: words.marks, sets: words.sets } }),
    data: [...gathered.data],
    files,
  }
  const to = madeFile(layout, manifest.name)
  const told = steadily(done => run.step({ bytes: done, totalBytes: bytes }))
  const { size, sha256 } = await writeBundle({ manifest, signer, pathOf, to, signal, told })
  const id = await noteMade(db, site, { manifest, size, sha256, by: run.by })
  if (id === undefined) throw new Error(`the number ${number} was given to another bundle for ${site.name}`)
  await run.step({ done: packages.length, bytes, totalBytes: bytes })
  await audit.record({
    action: 'BUNDLE_MAKE',
    result: 'SUCCESS',
    user: run.by,
    ip: request.ip,
    facts: { kind: 'bundle.made', bundle: manifest.name, site: site.name, packages: packages.length, size },
  })
  return { id, name: manifest.name, number, packages: packages.length, size, different: different.length }
}

/** A bundle for a site. Nothing of it is there before it is whole; a run that was cut short begins again. */
export const makeWork = (deps: MakeDeps): WorkKind<MakeRequest, never, MadeBundle> => ({
  kind: MAKE,
  name: 'Make a bundle for a site without a network',
  see: 'maintainer+',
  cancel: 'maintainer+',
  run: async (run, request) => {
    const scratch = join(deps.layout.bundles, 'scratch', run.id)
    try {
      return await make(deps, run, request, scratch)
    } catch (error) {
      if (error instanceof DamagedMember) return fail('bundle_member_damaged', { sha256: error.sha256 }, error)
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOSPC' || code === 'EDQUOT') return fail('storage_full', {}, error)
      throw error
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  },
})
