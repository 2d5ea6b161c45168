import { createHash } from 'node:crypto'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Actor, Changed, Judgement } from '../../catalog/change.ts'
import type { ContentsOf } from '../../contents/contents.ts'
import { fail } from '../../core/errors.ts'
import type { Format } from '../../formats/format.ts'
import type { FormatId, Iso, PackageRef, Sha256 } from '../../core/identity.ts'
import type { Finding } from '../../core/findings.ts'
import type { Manifest } from '../../core/manifest.ts'
import { policyOf } from '../../core/policy.ts'
import type { Repositories } from '../../core/repository.ts'
import { openFindings, reconsider } from '../../core/review.ts'
import type { VexDocument } from '../../core/vex.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { Malformed } from '../../lib/limited.ts'
import type { VexFact } from '../../record/audit-facts.ts'
import type { Settings } from '../../settings/store.ts'
import { follow } from '../decisions.ts'
import type { Found } from '../find-version.ts'
import { isOnePerson, needFourEyes } from '../four-eyes.ts'
import { readVex, statementsAbout } from './read.ts'
import type { RawDocument } from './statement.ts'

/** The most documents beside one package. */
const MOST_DOCUMENTS = 20

/** Who acts, and whether that role decides about packages. */
export interface Sender extends Actor {
  readonly mayDecide: boolean
}

/** What suppliers say of the vulnerabilities of packages: documents beside a package, and whose word is taken. */
export interface SupplierVex {
  /**
   * Puts a document beside a package. Its word counts at once where the sender may decide; else when somebody who may
   * accepts it. @throws bad_vex, version_not_found
   */
  add(found: Found, bytes: Uint8Array, sender: Sender): Promise<Changed>
  /** Takes the word of a document that is there. @throws vex_not_found, four_eyes */
  accept(found: Found, sha256: string, actor: Actor): Promise<Changed>
  /** Removes a document: what it closed counts again. @throws vex_not_found */
  remove(found: Found, sha256: string, actor: Actor): Promise<Changed>
}

export interface SupplierVexDeps {
  readonly db: Queryable
  readonly catalog: Pick<Catalog, 'change' | 'find'>
  readonly settings: Pick<Settings, 'now'>
  readonly contents: Pick<ContentsOf, 'known'>
  readonly formats: (id: FormatId) => Pick<Format, 'purl'>
  readonly repositories: Pick<Repositories, 'get'>
}

type Documents = readonly VexDocument[]

function read(bytes: Uint8Array): RawDocument {
  try {
    return readVex(bytes)
  } catch (error) {
    return refused(error)
  }
}

function refused(error: unknown): never {
  if (error instanceof Malformed) return fail('bad_vex', { why: error.message })
  throw error
}

const factOf = (act: VexFact['act'], { id, author, sha256, issued, accepted }: VexDocument): VexFact => ({
  act,
  document: id,
  author,
  sha256,
  issued,
  accepted: accepted !== undefined,
})

/** The names of the findings that a change of documents closed, and of those that it opened. */
function difference(before: readonly Finding[], after: readonly Finding[]): { closed: string[]; opened: string[] } {
  const only = (some: readonly Finding[], others: readonly Finding[]): string[] => [
    ...new Set(some.filter(one => !others.includes(one)).map(({ id }) => id)),
  ]
  return { closed: only(before, after), opened: only(after, before) }
}

/** An accepted document takes the place of other editions of it. */
const withoutEditions = (documents: Documents, { id, author, format, sha256 }: VexDocument): Documents =>
  documents.filter(one => one.sha256 === sha256 || one.id !== id || one.author !== author || one.format !== format)

export function createSupplierVex(deps: SupplierVexDeps): SupplierVex {
  const { db, catalog, settings, contents, formats, repositories } = deps

  /** The package with other documents, and the state that follows; it moves only where findings opened or closed. */
  function judge(before: Manifest, now: Iso, documents: Documents, fact: VexFact): Judgement {
    const { vex: _, ...review } = before.review ?? {}
    const noted: Manifest = {
      ...before,
      changed_at: now,
      review: { ...review, ...(documents.length === 0 ? {} : { vex: documents }) },
    }
    const moved = difference(openFindings(before, now), openFindings(noted, now))
    const isMoved = moved.closed.length + moved.opened.length > 0
    const state = isMoved ? follow(before, reconsider(noted, policyOf(settings.now()), now).state) : before.state
    return {
      after: { ...noted, state },
      fact: {
        action: 'SECURITY_DECISION',
        result: 'SUCCESS',
        facts: { kind: 'package.vex', from_state: before.state, to_state: state, ...fact, ...moved },
      },
    }
  }

  const change = (
    ref: PackageRef,
    actor: Actor,
    work: (before: Manifest, now: Iso) => Judgement | undefined,
  ): Promise<Changed> => catalog.change({ kind: 'review', ref, judge: work }, actor)

  /** Package URLs of what is inside: what was read there, and what was found. */
  async function insideOf(manifest: Manifest): Promise<readonly string[]> {
    const components = (await contents.known(manifest))?.components ?? []
    return [
      ...new Set([...components.map(({ purl }) => purl), ...manifest.findings.flatMap(({ at }) => at?.purl ?? [])]),
    ]
  }

  function needDocument(documents: Documents, sha256: string, { name, version }: PackageRef): VexDocument {
    return (
      documents.find(one => one.sha256 === sha256) ??
      fail('vex_not_found', { sha256: sha256.slice(0, 80), name, version })
    )
  }

  return {
    async add(found, bytes, sender) {
      const { ref } = found
      const document = read(bytes)
      const manifest =
        (await catalog.find(ALL_SEEING, ref)) ?? fail('version_not_found', { name: ref.name, version: ref.version })
      const purl = formats(ref.format).purl(ref, repositories.get(ref.codename), manifest.about)
      const inside = await insideOf(manifest)
      const sha256 = createHash('sha256').update(bytes).digest('hex') as Sha256
      const counts =
        sender.mayDecide && !(settings.now().review.four_eyes && (await isOnePerson(db, found.uploadedBy, sender.name)))
      let statements: VexDocument['statements']
      try {
        statements = statementsAbout(document, { purl, manifest }, inside)
      } catch (error) {
        return refused(error)
      }
      return change(ref, sender, (before, now) => {
        const there = before.review?.vex ?? []
        const known = there.find(one => one.sha256 === sha256)
        if (known !== undefined && (known.accepted !== undefined || !counts)) return undefined
        if (known === undefined && there.length >= MOST_DOCUMENTS)
          fail('bad_vex', { why: `the package has ${MOST_DOCUMENTS} documents. Remove one that is out of date first` })
        const { format, id, author, issued } = document
        const added: VexDocument = {
          ...{ sha256, format, id, author, issued, statements, sent_by: sender.name, sent_at: now },
          ...(counts ? { accepted: { by: sender.name, at: now } } : {}),
        }
        const others = there.filter(one => one.sha256 !== sha256)
        const documents = [...(counts ? withoutEditions(others, added) : others), added]
        return judge(before, now, documents, factOf('added', added))
      })
    },
    async accept(found, sha256, actor) {
      if (settings.now().review.four_eyes) await needFourEyes(db, found, actor.name)
      return change(found.ref, actor, (before, now) => {
        const there = before.review?.vex ?? []
        const known = needDocument(there, sha256, found.ref)
        if (known.accepted !== undefined) return undefined
        const taken: VexDocument = { ...known, accepted: { by: actor.name, at: now } }
        const documents = withoutEditions(there, taken).map(one => (one === known ? taken : one))
        return judge(before, now, documents, factOf('accepted', taken))
      })
    },
    remove: (found, sha256, actor) =>
      change(found.ref, actor, (before, now) => {
        const there = before.review?.vex ?? []
        const known = needDocument(there, sha256, found.ref)
        return judge(
          before,
          now,
          there.filter(one => one !== known),
          factOf('removed', known),
        )
      }),
  }
}
