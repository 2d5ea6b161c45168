import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../core/errors.ts'
import { listHere } from '../../catalog/queries/carried.ts'
import { listWordsHere } from '../../catalog/queries/carried-registries.ts'
import { receivedSha256 } from '../../core/manifest.ts'
import type { Db } from '../../db/db.ts'
import { sha256Of } from '../../lib/digest-file.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import { Malformed } from '../../lib/limited.ts'
import { listSignatures } from '../../scanners/clamav-signatures.ts'
import type { Keyring } from '../../signing/signer.ts'
import type { Database } from '../../vulndb/store/database.ts'
import { NONE, listTaken, type Sender } from './senders.ts'
import { readReceipt, RECEIPT_ENDING, type Receipt, type RefRow } from './manifest.ts'
import { checkEnd, readHead } from './signed-head.ts'
import { findSite, keepReceipt, type Site } from './sites.ts'
import { checkSigned, printFingerprint } from './trust.ts'
import { packReceipt } from './write-bundle.ts'

export interface ReceiptDeps {
  readonly db: Db
  readonly keyring: Pick<Keyring, 'signer'>
  readonly clock: Clock
  readonly version: string
  readonly database: Pick<Database, 'open'>
  readonly signatureFolder: () => string
}

/** Digests of the files that the data here were loaded from. */
async function loadedData({ database, signatureFolder }: ReceiptDeps): Promise<readonly string[]> {
  const meta = (await database.open().catch(() => undefined))?.meta // without data none is named
  const folder = signatureFolder()
  const signatures: string[] = []
  for (const { file } of await listSignatures(folder)) {
    const digest = await sha256Of(join(folder, file)).catch(() => undefined) // replaced at this moment
    if (digest !== undefined) signatures.push(digest)
  }
  const files = Object.values(meta?.sources ?? {}).flatMap(source => source.files)
  return [...new Set([...files, ...signatures])].filter(digest => /^[0-9a-f]{64}$/.test(digest))
}

/** What this site has now, but for hidden distributions, and what became of the bundles of a sender, signed. */
export async function makeReceipt(
  deps: ReceiptDeps,
  sender: Sender & { readonly site: string; readonly installation: string },
  hidden: readonly string[],
): Promise<{ readonly file: string; readonly bytes: Buffer; readonly receipt: Receipt }> {
  const { db, keyring, clock, version } = deps
  const signer = await keyring.signer()
  const rows = await listHere(db, { hidden })
  const said = await listWordsHere(db, { hidden }, `source:bundle-${sender.name}`)
  const taken = (await listTaken(db, hidden, sender.id)).filter(({ state }) => state === 'done')
  const at = isoNow(clock)
  const name = `${sender.site}-receipt-${at.slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}`
  const receipt: Receipt = {
    format: 1,
    kind: 'receipt',
    name,
    site: sender.site,
    created_at: at,
    version,
    sender: { id: sender.installation },
    number: sender.last_number,
    bundles: taken.map(one => ({
      number: one.number,
      sha256: one.sha256,
      taken_at: (one.ended_at ?? one.started_at).toISOString(),
      packages: one.packages,
      ...NONE,
      ...one.counts,
      missing: [...one.missing],
      not_published: one.not_published.map(item => ({ ...item, ref: [...item.ref] as RefRow })),
    })),
    packages: rows.map(({ format, codename, name: called, version: of, arch, state, files: [first] }) => ({
      ref: [format, codename, called, of, arch],
      sha256: receivedSha256(first),
      state,
    })),
    tags: said.tags.map(({ format, codename, name: called, tag, version: of }) => [format, codename, called, tag, of]),
    brought_tags: said.brought.map(({ format, codename, name: called, tag }) => [format, codename, called, tag]),
    marks: said.marks.map(({ format, codename, name: called, version: of, arch, deprecated, yanked }) => ({
      ref: [format, codename, called, of, arch],
      mark: {
        ...(deprecated === null ? {} : { deprecated }),
        ...(yanked === null ? {} : { yanked: { reason: yanked.reason } }),
      },
    })),
    data: [...(await loadedData(deps))],
  }
  return { file: `${name}${RECEIPT_ENDING}`, bytes: await packReceipt(receipt, signer), receipt }
}

/** What the file says, and who signed it. @throws receipt_refused */
async function openReceipt(path: string) {
  const handle = await open(path, 'r')
  try {
    const head = await readHead(handle, 'receipt.json')
    const receipt = readReceipt(head.list)
    await checkEnd(handle, head.sizeBytes, head)
    return { head, receipt }
  } catch (error) {
    if (error instanceof Malformed) return fail('receipt_refused', { why: error.why }, error)
    throw error
  } finally {
    await handle.close()
  }
}

/**
 * Reads the receipt of a site. Nothing is kept of one that is refused.
 * @param installation  this one: a receipt for another sender is refused
 * @throws receipt_refused, receipt_unknown_key, receipt_older, bundle_site_not_found
 */
export async function takeReceipt(
  { db, clock }: Pick<ReceiptDeps, 'db' | 'clock'>,
  path: string,
  installation: string,
): Promise<{ readonly site: Site; readonly receipt: Receipt }> {
  const { head, receipt } = await openReceipt(path)
  const site = (await findSite(db, receipt.site)) ?? fail('bundle_site_not_found', { site: receipt.site })
  const signed = await checkSigned(head, [site], { createdAt: receipt.created_at, now: clock.now() })
  if ('why' in signed) return fail('receipt_refused', { why: signed.why })
  if ('unknown' in signed)
    return fail('receipt_unknown_key', {
      site: site.name,
      fingerprints: signed.unknown.map(printFingerprint).join(' and '),
    })
  if (receipt.sender.id !== installation)
    return fail('receipt_refused', { why: 'it is for another installation, whose bundles that site took' })
  const older = (): never =>
    fail('receipt_older', {
      site: site.name,
      made_at: receipt.created_at,
      known_at: site.receipt_at?.toISOString() ?? '',
    })
  if (site.receipt_at !== null && receipt.created_at < site.receipt_at.toISOString()) older()
  if (!(await keepReceipt(db, site.id, receipt, clock.now()))) older()
  return { site: (await findSite(db, site.name)) ?? site, receipt }
}
