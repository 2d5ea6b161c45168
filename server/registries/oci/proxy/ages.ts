import { readFile } from 'node:fs/promises'
import { findHead, isPartOfServed, type Repository } from '../../../catalog/queries/oci.ts'
import { findSeen, noteSeen, saveYouth } from '../../../catalog/queries/oci-remote.ts'
import { findWaiver } from '../../../catalog/queries/remote-versions.ts'
import { isServed } from '../../../core/manifest.ts'
import { digestInTag } from '../../../core/signature-types.ts'
import { archOf, CREATED, dateIn, MAX_CONFIG, readConfigOf, type ImageConfig } from '../../../formats/oci/config.ts'
import { readDocument, type OciDocument } from '../../../formats/oci/document.ts'
import { parsing, refuseUpstream } from '../../../formats/upstream-files.ts'
import { whyHidden } from '../../held.ts'
import { youth } from '../../remote/judge.ts'
import { refuseAs } from '../answers.ts'
import type { OciDeps } from '../deps.ts'
import type { Parts } from './parts.ts'
import { isMissing, type FarRepository, type OciUpstream } from './upstream.ts'

/** How old manifests are, and whether that is old enough for a registry. */
export interface Ages {
  /** Notes a manifest when it is seen for the first time. */
  note(at: FarRepository, seen: Seen, signal: AbortSignal): Promise<void>
  /**
   * Refuses what is too young. What is a part of something that is served is not, nor what is about such a thing: it
   * comes with it. A waiver lets through, too.
   * @throws OciRefusal DENIED
   */
  check(at: FarRepository, digest: string, console: string): Promise<void>
}

export interface Seen {
  /** `sha256:…` */
  readonly digest: string
  readonly document: OciDocument
  /** The tag that it was asked for by. */
  readonly tag: string | undefined
}

const latest = (dates: readonly (Date | undefined)[]): Date | undefined =>
  dates.flatMap(date => date ?? []).toSorted((a, b) => b.getTime() - a.getTime())[0]

export function createAges({
  db,
  pool,
  clock,
  parts,
  far,
}: Pick<OciDeps, 'db' | 'pool' | 'clock'> & {
  readonly parts: Pick<Parts, 'bring'>
  readonly far: Pick<OciUpstream, 'manifest'>
}): Ages {
  const repositoryOf = ({ registry, name }: FarRepository): Repository => ({ codename: registry.codename, name })

  async function configOf(at: FarRepository, document: OciDocument, signal: AbortSignal): Promise<ImageConfig> {
    const { kind, config } = document
    if (kind !== 'image' || config === undefined) return {}
    if (config.size > MAX_CONFIG)
      refuseUpstream(config.digest, 'too_large', `it has ${config.size} bytes, a config has at most ${MAX_CONFIG}`)
    const { sha256 } = await parts.bring(at, config, signal)
    const bytes = await readFile(await pool.locate(sha256))
    return parsing(config.digest, () => readConfigOf(document, bytes))
  }

  /** The date of the first image of an index that says nothing of the kind itself. */
  async function dateOfPart(at: FarRepository, { manifests }: OciDocument, signal: AbortSignal) {
    const one = manifests.find(({ platform }) => platform !== undefined && platform.os !== 'unknown')
    if (one === undefined) return undefined
    const told = await far.manifest(at, one.digest, signal)
    if (isMissing(told)) return undefined
    const document = parsing(one.digest, () => readDocument(told.bytes))
    return (await configOf(at, document, signal)).created
  }

  /** Whether it comes with something that clients get already. */
  async function isWithServed(repository: Repository, digest: string, about: unknown): Promise<boolean> {
    if (await isPartOfServed(db, repository, digest)) return true
    const subject = typeof about === 'string' ? await findHead(db, repository, about) : undefined
    return subject !== undefined && isServed(subject.state)
  }

  return {
    async note(at, { digest, document, tag }, signal) {
      const { minAgeDays = 0, ageFrom = 'upstream' } = at.registry.registry ?? {}
      const { platform, created } = await configOf(at, document, signal)
      const noted = (notes: OciDocument['annotations'] = {}): Date | undefined => dateIn(notes[CREATED])
      const dates = [created, noted(document.annotations), ...document.manifests.map(one => noted(one.annotations))]
      const isAsked = minAgeDays > 0 && ageFrom === 'upstream' && document.kind === 'index'
      const date = latest(dates) ?? (isAsked ? await dateOfPart(at, document, signal) : undefined)
      const about = document.subject?.digest ?? digestInTag(tag ?? '')
      await noteSeen(db, repositoryOf(at), {
        ...{ digest, arch: archOf(document, platform), now: clock.now(), publishedAt: date?.toISOString() },
        facts: {
          media_type: document.mediaType,
          ...(about === undefined ? {} : { about }),
          ...(tag === undefined ? {} : { tag }),
        },
      })
    },

    async check(at, digest, console) {
      const repository = repositoryOf(at)
      const seen = await findSeen(db, repository, digest)
      if (seen === undefined) return
      const { kind = 'proxy', ageFrom, ...rules } = at.registry.registry ?? {}
      // the date is its maker's word; without one its age counts from here
      const from = seen.published_at === null ? 'first_seen' : (ageFrom ?? 'upstream')
      const young = youth(seen, { kind, ...rules, ageFrom: from })
      const isTooYoung =
        young !== undefined &&
        (young.ripe_at === null || young.ripe_at > clock.now()) &&
        (await findWaiver(db, { ...repository, version: digest }, clock.now())) === undefined &&
        !(await isWithServed(repository, digest, seen.facts.about))
      await saveYouth(db, repository, digest, isTooYoung ? young : undefined)
      if (!isTooYoung) return
      const { sentence } = whyHidden(young.said, console, {
        format: at.registry.format,
        version: digest,
        ...repository,
      })
      refuseAs(403, 'DENIED', sentence)
    },
  }
}
