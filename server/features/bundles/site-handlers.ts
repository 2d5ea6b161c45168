import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { needScopes } from '../../core/access.ts'
import type { Contract, Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Distribution, SeenRepositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import { readBody } from '../../files/form.ts'
import { chooseFor } from '../../imports/bundle/choose.ts'
import { baseFor, MAKE, madeFile, wantedOf, type MakeRequest } from '../../imports/bundle/make.ts'
import { BUNDLE_ENDING, keyOfRow, type Receipt, type RefRow } from '../../imports/bundle/manifest.ts'
import { listPublished, type Published } from '../../imports/bundle/published.ts'
import { takeReceipt } from '../../imports/bundle/receipts.ts'
import {
  addSite,
  changeSite,
  findMade,
  findSite,
  listMade,
  listSites,
  noteRemoved,
  readLastReceipt,
  removeSite,
  type Site,
} from '../../imports/bundle/sites.ts'
import { listTaken } from '../../imports/bundle/senders.ts'
import { listSignatures } from '../../scanners/clamav-signatures.ts'
import { listGroups } from '../../imports/run/groups.ts'
import { BadPublicKey } from '../../signing/public-key.ts'
import { readPinned, type PinnedKeys } from '../../signing/pinned-keys.ts'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { COPY } from './copy-work.ts'
import type { bundles } from './contract.ts'
import type { BundleRouteDeps } from './deps.ts'
import { findOnMedium } from './media.ts'
import { NAMED } from './schemas.ts'
import { madeView, siteView, takenView } from './views.ts'

type Rows = typeof bundles
type SiteRows = Pick<
  Rows,
  | 'GET /bundles'
  | 'POST /bundles'
  | 'GET /bundles/{id}/download'
  | 'POST /bundles/{id}/copy'
  | 'DELETE /bundles/{id}'
  | 'GET /bundles/sites'
  | 'POST /bundles/sites'
  | 'PUT /bundles/sites/{site}/key'
  | 'DELETE /bundles/sites/{site}'
  | 'GET /bundles/sites/{site}/preview'
  | 'POST /bundles/receipts'
  | 'POST /bundles/receipts/read'
>

const MOST_RECEIPT = 256 * 2 ** 20
const asContract = <C extends Contract>(handlers: Handlers<C, BundleRouteDeps>): Handlers<C, BundleRouteDeps> =>
  handlers

/** @throws bundle_bad_key */
export const pinnedOr = (given: Parameters<typeof readPinned>[0]): Promise<PinnedKeys> =>
  readPinned(given).catch((error: unknown) => {
    if (error instanceof BadPublicKey) return fail('bundle_bad_key', { why: error.why }, error)
    throw error
  })

/** Distributions and registries that a bundle is made of; with neither all distributions, and no registry. */
function chosenCodenames(
  { repositories }: BundleRouteDeps,
  viewer: Viewer,
  {
    distributions,
    registries,
  }: { readonly distributions?: readonly string[]; readonly registries?: readonly string[] },
): string[] {
  const seen = repositories.seenBy(viewer)
  const all = registries === undefined ? seen.trees.all() : []
  return [
    ...(distributions?.map(codename => seen.trees.get(codename)) ?? all),
    ...(registries ?? []).map(codename => needRegistry(seen, codename)),
  ].map(({ codename }) => codename)
}

/** @throws registry_not_found, registry_takes_no_uploads for a group, which has no versions of its own */
function needRegistry(seen: SeenRepositories, codename: string): Distribution {
  const registry = seen.registries().find(one => one.codename === codename)
  if (registry === undefined) return fail('registry_not_found', { name: codename.slice(0, 80) })
  return registry.registry?.kind === 'group' ? fail('bundle_group_chosen', { name: codename }) : registry
}

/** What is new for sites: of all distributions, and of the registries that one of them has. */
async function publishedFor(deps: BundleRouteDeps, sites: readonly Site[], viewer: Viewer) {
  const seen = deps.repositories.seenBy(viewer)
  const there = new Set<string>()
  for (const site of sites)
    for (const { ref } of (await readLastReceipt(deps.db, site.id))?.packages ?? []) there.add(ref[1])
  const all = [...seen.trees.all(), ...seen.registries().filter(({ codename }) => there.has(codename))]
  return listPublished(
    deps,
    all.map(({ codename }) => codename),
  )
}

async function lackingAt(deps: BundleRouteDeps, site: Site, all: readonly Published[]): Promise<readonly Published[]> {
  const receipt = await readLastReceipt(deps.db, site.id)
  if (receipt === undefined) return all.filter(({ words }) => words === undefined)
  const there = new Set(receipt.packages.map(({ ref }) => keyOfRow(ref)))
  const codenames = new Set(receipt.packages.map(({ ref }) => ref[1]))
  // of registries only those that it has something of
  return all.filter(({ ref, words }) => !there.has(keyOfRow(ref)) && (words === undefined || codenames.has(ref[1])))
}

async function viewSite(deps: BundleRouteDeps, site: Site, viewer: Viewer) {
  return siteView(site, await lackingAt(deps, site, await publishedFor(deps, [site], viewer)))
}

const needSite = async ({ db }: BundleRouteDeps, name: string): Promise<Site> =>
  (await findSite(db, name)) ?? fail('bundle_site_not_found', { site: name })

async function needMade(deps: BundleRouteDeps, id: number, viewer: Viewer) {
  const made = await findMade(deps.db, id, viewer.hidden)
  return made === undefined || made.removed_at !== null ? fail('bundle_not_found', { id }) : made
}

/** Reads a receipt and answers with what is new in it. */
async function readReceiptAt(
  deps: BundleRouteDeps,
  path: string,
  { by, ip }: { readonly by: string; readonly ip: string },
) {
  const { id } = await deps.sender()
  const { site, receipt } = await takeReceipt(deps, path, id)
  await deps.audit.record({
    action: 'BUNDLE_RECEIPT',
    result: 'SUCCESS',
    user: by,
    ip,
    facts: { kind: 'bundle.receipt_read', receipt: receipt.name, site: site.name, number: receipt.number },
  })
  const missing = missingIn(receipt, site.last_number)
  const many = receipt.packages.length === 1 ? '1 package' : `${receipt.packages.length} packages`
  const held = receipt.packages.filter(({ state }) => state !== 'published').length
  return {
    site: site.name,
    name: receipt.name,
    made_at: receipt.created_at,
    number: receipt.number,
    packages: receipt.packages.length,
    held,
    missing,
    message:
      missing.length === 0
        ? `${site.label} has ${many}. Every bundle up to ${receipt.number} came.`
        : `${site.label} has ${many}. Not come: ${missing.join(', ')}; the next bundle holds what is missing.`,
  }
}

/** Numbers below the highest that came, which did not come themselves. */
function missingIn({ number, bundles: came }: Receipt, last: number): number[] {
  const there = new Set(came.map(one => one.number))
  const missing: number[] = []
  for (let n = 1; n <= Math.min(number, last); n++) if (!there.has(n)) missing.push(n)
  return missing
}

async function signaturesIn(folder: string) {
  const files = await listSignatures(folder)
  const sizes = await Promise.all(
    files.map(({ file }) =>
      stat(join(folder, file)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0), newest: files[0]?.built_at ?? null }
}

/** The newest version of each name that the receipt has. */
function versionsThere(receipt: Receipt | undefined): ReadonlyMap<string, string> {
  const versions = new Map<string, string>()
  // in the order of versions
  for (const { ref } of receipt?.packages ?? []) versions.set(slotOf(ref), ref[3])
  return versions
}
const slotOf = ([format, codename, name, , arch]: RefRow): string => [format, codename, name, arch].join(' ')

export const siteHandlers = asContract<SiteRows>({
  'GET /bundles': async (deps, { viewer }) => {
    const { db, clock, settings, keyring } = deps
    const { hidden } = viewer
    const [made, taken, sites, [key]] = await Promise.all([
      listMade(db, hidden),
      listTaken(db, hidden),
      listSites(db),
      keyring.keys(),
    ])
    const lateDays = settings.now().bundles.late_days
    return {
      bundles: made.map(one => madeView(one, sites, { now: clock.now(), lateDays, hidden })),
      imports: taken.map(one => takenView(one, hidden)),
      late_days: lateDays,
      key: key === undefined ? null : { fingerprint: key.fingerprint, user_id: key.user_id },
    }
  },
  'POST /bundles': async (deps, { body, who, viewer, raw }) => {
    const site = await needSite(deps, body.site)
    const codenames = chosenCodenames(deps, viewer, body)
    needScopes(who, codenames)
    for (const group of body.groups ?? [])
      if ((await listGroups(deps.db, viewer, group)).length === 0) fail('import_group_not_found', { group })
    await deps.keyring.signer()
    const request: MakeRequest = {
      site: site.name,
      base: body.base ?? 'receipt',
      codenames,
      vulnerability: body.vulnerability ?? true,
      antivirus: body.antivirus ?? true,
      ip: raw.clientIp,
      ...(body.packages === undefined ? {} : { packages: body.packages }),
      ...(body.groups === undefined ? {} : { groups: body.groups }),
    }
    const { id } = await deps.jobs.ask({
      kind: MAKE,
      target: site.name,
      request: { ...request },
      codenames,
      by: who.name,
      requestId: raw.requestId,
    })
    return { status: 'accepted', job_id: id, message: `The bundle for ${site.label} is made as job ${id}.` }
  },
  'GET /bundles/{id}/download': async (deps, { params, viewer }) => {
    const { id, name, size } = await needMade(deps, params.id, viewer)
    const path = madeFile(deps.layout, name)
    const found = await stat(path).catch(() => undefined)
    if (found?.size !== size) return fail('bundle_not_found', { id })
    return { body: createReadStream(path), type: 'application/x-tar', name: `${name}${BUNDLE_ENDING}`, size }
  },
  'POST /bundles/{id}/copy': async (deps, { params, body, who, viewer, raw }) => {
    const { id, name } = await needMade(deps, params.id, viewer)
    if (!deps.importRoots.includes(body.directory))
      fail('bundle_place_refused', {
        path: body.directory,
        why: 'it is not a directory of IMPORT_ROOTS, which an admin sets',
      })
    const job = await deps.jobs.ask({
      kind: COPY,
      target: body.directory,
      request: { name, directory: body.directory },
      by: who.name,
      requestId: raw.requestId,
    })
    return { status: 'accepted', job_id: job.id, message: `Bundle ${id} is written to ${body.directory}.` }
  },
  'DELETE /bundles/{id}': async (deps, { params, who, viewer, raw }) => {
    const { id, name } = await needMade(deps, params.id, viewer)
    await rm(madeFile(deps.layout, name), { force: true })
    await noteRemoved(deps.db, id, deps.clock.now())
    await deps.audit.record({
      action: 'BUNDLE_REMOVE',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'bundle.removed', bundle: name },
    })
    return { message: `The file of ${name} is removed.` }
  },
  'GET /bundles/sites': async (deps, { viewer }) => {
    const sites = await listSites(deps.db)
    const all = sites.length === 0 ? [] : await publishedFor(deps, sites, viewer)
    const views = []
    for (const site of sites) views.push(siteView(site, await lackingAt(deps, site, all)))
    return { sites: views }
  },
  'POST /bundles/sites': async (deps, { body, who, viewer, raw }) => {
    const given = { name: body.name, label: body.label ?? body.name, fingerprints: [], key: null, by: who.name }
    const site = (await addSite(deps.db, given)) ?? fail('bundle_site_exists', { site: body.name })
    await deps.audit.record({
      action: 'BUNDLE_PIN',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'bundle.site_added', site: site.name, fingerprints: [] },
    })
    return viewSite(deps, site, viewer)
  },
  'PUT /bundles/sites/{site}/key': async (deps, { params, body, who, viewer, raw }) => {
    const { name, label } = await needSite(deps, params.site)
    const pinned = await pinnedOr({ fingerprint: body.fingerprint, publicKey: body.public_key })
    const site =
      (await changeSite(deps.db, name, { label, ...pinned })) ?? fail('bundle_site_not_found', { site: name })
    await deps.audit.record({
      action: 'BUNDLE_PIN',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'bundle.site_key', site: name, fingerprints: pinned.fingerprints },
    })
    return viewSite(deps, site, viewer)
  },
  'DELETE /bundles/sites/{site}': async (deps, { params, who, raw }) => {
    const { name } = await needSite(deps, params.site)
    for (const file of await removeSite(deps.db, name)) await rm(madeFile(deps.layout, file), { force: true })
    await deps.audit.record({
      action: 'BUNDLE_PIN',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'bundle.site_removed', site: name },
    })
    return { message: `${name} is forgotten, with its bundles.` }
  },
  'GET /bundles/sites/{site}/preview': async (deps, { params, query, viewer, raw }) => {
    const site = await needSite(deps, params.site)
    const codenames = chosenCodenames(deps, viewer, {
      ...(query.distribution === undefined ? {} : { distributions: [query.distribution] }),
      ...(query.registry === undefined ? {} : { registries: [query.registry] }),
    })
    const base = await baseFor(deps.db, site, query.base ?? 'receipt')
    const wish = {
      codenames,
      ...(query.package === undefined ? {} : { packages: [query.package] }),
      ...(query.group === undefined ? {} : { groups: [query.group] }),
    }
    const choice = await chooseFor(deps, await wantedOf(deps, wish, raw.signal), base, raw.signal)
    const versions = versionsThere(base.receipt)
    const sizeOf = ({ files }: Published): number => files.reduce((sum, { size }) => sum + size, 0)
    return {
      site: site.name,
      based_on: base.basedOn,
      packages: choice.published.length,
      bytes: choice.published.reduce((sum, one) => sum + sizeOf(one), 0),
      there: choice.assumes.length,
      different: choice.different.length,
      tags: choice.words?.tags.length ?? 0,
      marks: choice.words?.marks.length ?? 0,
      named: choice.published.slice(0, NAMED).map(one => {
        const [format, distribution, name, version, arch] = one.ref
        return {
          name,
          version,
          arch,
          distribution,
          format,
          size: sizeOf(one),
          version_there: versions.get(slotOf(one.ref)) ?? null,
        }
      }),
      vulnerability: { configured: deps.feedsConfigured() },
      antivirus: await signaturesIn(deps.signatureFolder()),
    }
  },
  'POST /bundles/receipts': async (deps, { query, who, raw }) => {
    const { file } = await readBody(raw, {
      spool: deps.spool,
      limitBytes: MOST_RECEIPT,
      setting: 'none',
      filename: query.filename,
      known: [],
    })
    try {
      return await readReceiptAt(deps, file.path, { by: who.name, ip: raw.clientIp })
    } finally {
      await file.discard()
    }
  },
  'POST /bundles/receipts/read': async (deps, { body, who, raw }) => {
    const { path } = await findOnMedium(deps, body.path)
    return readReceiptAt(deps, path, { by: who.name, ip: raw.clientIp })
  },
})
