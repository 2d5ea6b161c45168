import type { Static } from '@sinclair/typebox'
import type { Looked } from '../../imports/bundle/accept.ts'
import { BUNDLE_ENDING, type RefRow } from '../../imports/bundle/manifest.ts'
import type { Published } from '../../imports/bundle/published.ts'
import { NONE, type NotPublished, type Sender, type Taken } from '../../imports/bundle/senders.ts'
import type { Made, Site } from '../../imports/bundle/sites.ts'
import { printGap } from '../../imports/bundle/take.ts'
import { printFingerprint } from '../../imports/bundle/trust.ts'
import { isoOrNull } from '../../lib/clock.ts'
import type { InspectionSchema, MadeSchema, SenderSchema, SiteSchema, TakenSchema } from './schemas.ts'

const DAY_MS = 86_400_000

const namedRow = ([format, distribution, name, version, arch]: RefRow) => ({
  name,
  version,
  arch,
  distribution,
  format,
})

const notPublished = (items: readonly NotPublished[], hidden: readonly string[]) =>
  items
    .filter(({ ref }) => !hidden.includes(ref[1]))
    .map(({ ref, outcome, why }) => ({ ...namedRow(ref), outcome, why }))

/** How a bundle stands at its site. @param site  its receipt may say that the bundle never came */
function standingOf(
  { receipt, number, made_at: madeAt }: Made,
  site: Site | undefined,
  { now, lateDays }: { readonly now: Date; readonly lateDays: number },
): Static<typeof MadeSchema>['standing'] {
  if (receipt !== null) {
    const { held, refused, upstream_changed: changed = 0, waits } = receipt
    return held + refused + changed + waits > 0 ? 'partly' : 'imported'
  }
  // a higher number came, and this one did not
  if (site !== undefined && number < site.receipt_number) return 'lost'
  return now.getTime() - madeAt.getTime() > lateDays * DAY_MS ? 'late' : 'unconfirmed'
}

export function madeView(
  made: Made,
  sites: readonly Site[],
  at: { readonly now: Date; readonly lateDays: number; readonly hidden: readonly string[] },
): Static<typeof MadeSchema> {
  const { id, site, number, name, based_on, packages, data, size, sha256, codenames, made_by, receipt } = made
  return {
    ...{ id, site, number, name, based_on, packages, size, sha256, made_by },
    file_name: made.removed_at === null ? `${name}${BUNDLE_ENDING}` : null,
    data: [...data],
    distributions: [...codenames],
    made_at: made.made_at.toISOString(),
    standing: standingOf(
      made,
      sites.find(one => one.name === site),
      at,
    ),
    receipt:
      receipt === null
        ? null
        : {
            ...NONE,
            ...receipt,
            missing: [...receipt.missing],
            not_published: notPublished(receipt.not_published, at.hidden),
          },
  }
}

export function takenView(taken: Taken, hidden: readonly string[]): Static<typeof TakenSchema> {
  const { id, sender_id, sender, number, name, sha256, state, why, packages, size, job_id, taken_by } = taken
  return {
    ...{ id, sender_id, sender, number, name, sha256, state, why, packages, size, job_id, taken_by },
    ...NONE,
    ...taken.counts,
    missing: [...taken.missing],
    not_published: notPublished(taken.not_published, hidden),
    data: taken.data.map(one => ({ ...one })),
    words: taken.words
      .filter(({ ref }) => !hidden.includes(ref[1]))
      .map(({ word, tag, ref: [, registry, name, version], outcome, why }) => ({
        ...{ word, tag, registry, name, version, outcome, why },
      })),
    made_at: taken.created_at.toISOString(),
    started_at: taken.started_at.toISOString(),
    ended_at: isoOrNull(taken.ended_at),
  }
}

/** @param lacking  published packages that its last receipt does not have */
export function siteView(site: Site, lacking: readonly Published[]): Static<typeof SiteSchema> {
  const { name, label, fingerprints, last_number, receipt_number, created_by } = site
  return {
    ...{ name, label, last_number, receipt_number, created_by },
    fingerprints: [...fingerprints],
    receipt_at: isoOrNull(site.receipt_at),
    receipt_read_at: isoOrNull(site.receipt_read_at),
    new_packages: lacking.length,
    new_bytes: lacking.flatMap(({ files }) => files).reduce((sum, { size }) => sum + size, 0),
    created_at: site.created_at.toISOString(),
  }
}

export function senderView(sender: Sender, missing: readonly number[]): Static<typeof SenderSchema> {
  const { id, name, fingerprints, key, site, last_number, added_by, added_at } = sender
  return {
    ...{ id, name, site, last_number, added_by },
    fingerprints: [...fingerprints],
    has_key: key !== null,
    missing: [...missing],
    added_at: added_at.toISOString(),
  }
}

/** What there is to say of a bundle before it is imported. */
function saidOf({ signed, sender, sequence, missing, bundle: { manifest } }: Looked): string {
  if ('why' in signed) return `Its signature is not good: ${signed.why}.`
  if (sender === undefined)
    return `It is signed with ${'unknown' in signed ? signed.unknown.map(printFingerprint).join(' and ') : 'an unknown key'}, which is not pinned here. Compare the fingerprint with the sender over another way; then an admin pins it.`
  if (sender.site !== null && sender.site !== manifest.site)
    return `It was made for ${manifest.site}, and ${sender.name} calls this site ${sender.site}.`
  if (sequence === 'older')
    return `A later one, ${sender.last_number}, was taken already. An admin may import it all the same.`
  if (sequence === 'again') return 'It was taken already. Importing it again takes what is not here yet.'
  if (missing.length > 0) return printGap(missing, sender.name)
  return 'It follows what came before.'
}

export function inspectionOf(
  looked: Looked,
  {
    file,
    hidden,
    hasDistribution,
    assumedMissing,
  }: {
    readonly file: string
    readonly hidden: readonly string[]
    readonly hasDistribution: (codename: string) => boolean
    readonly assumedMissing: number
  },
): Static<typeof InspectionSchema> {
  const { bundle, signed, sender, sequence, missing } = looked
  const { manifest, sizeBytes } = bundle
  const seen = manifest.packages.filter(({ ref }) => !hidden.includes(ref[1]))
  const isOurs = sender !== undefined && (sender.site === null || sender.site === manifest.site)
  return {
    file,
    name: manifest.name,
    site: manifest.site,
    number: manifest.number,
    made_at: new Date(manifest.created_at).toISOString(),
    release: manifest.version,
    made_by: manifest.sender.name,
    size: sizeBytes,
    based_on: manifest.based_on,
    packages: manifest.packages.length,
    assumes: manifest.assumes.length,
    assumed_missing: assumedMissing,
    distributions: [...Map.groupBy(seen, ({ ref }) => ref[1])].map(([distribution, all]) => ({
      distribution,
      packages: all.length,
      here: hasDistribution(distribution),
    })),
    tags: manifest.registries?.tags.length ?? 0,
    marks: manifest.registries?.marks.length ?? 0,
    data: [...Map.groupBy(manifest.data, ({ kind }) => kind)].map(([kind, files]) => ({
      kind,
      files: files.length,
      newest:
        files
          .map(one => one.as_of ?? '')
          .sort()
          .at(-1) || null,
    })),
    signature: {
      state: 'why' in signed ? 'bad' : sender === undefined ? 'unknown_key' : 'trusted',
      fingerprints: 'by' in signed ? [signed.by] : 'unknown' in signed ? [...signed.unknown] : [],
      sender: sender?.name ?? null,
      why: 'why' in signed ? signed.why : null,
    },
    sequence,
    last_number: sender?.last_number ?? null,
    missing: [...missing],
    may_import: isOurs && sequence !== 'older',
    said: saidOf(looked),
  }
}
