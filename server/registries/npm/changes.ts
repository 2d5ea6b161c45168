import { fail, isRefusal } from '../../core/errors.ts'
import { isServed } from '../../core/manifest.ts'
import { marking, type NpmFacts } from '../../formats/npm/facts.ts'
import { plainText } from '../../formats/npm/package-json.ts'
import { complainTag } from '../../formats/npm/tag.ts'
import { actorOf } from '../admit.ts'
import { chunksOf, readSmall } from '../body.ts'
import { whyHeld } from '../held.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { packageOf, refOf } from '../refs.ts'
import { json, noPackage, noVersion, refused } from './answers.ts'
import type { NameRows, NpmDeps } from './packument.ts'
import type { Received } from './received.ts'
import { LATEST } from './tags.ts'

const MOST_DEPRECATION = 1_000
const MOST_TAG_BYTES = 1_024
const DONE = { ok: true, success: true } as const

/** The text of a deprecation; undefined where it ends. npm sends an empty text then, others leave it out. */
function deprecationOf(value: unknown): string | undefined {
  const text = value === true ? 'This version is deprecated.' : plainText(value, MOST_DEPRECATION)
  return text === '' ? undefined : text
}

/**
 * Says of versions that they are deprecated, or no longer. The rest of the document is what the client read before, and
 * changes nothing.
 */
export async function deprecate(
  { catalog, packuments }: NpmDeps,
  request: RegistryRequest,
  { received, name }: { readonly received: Received; readonly name: string },
): Promise<RegistryAnswer> {
  const known = await packuments.rows(request, name)
  if (known === undefined) return noPackage(name, request.registry.codename)
  for (const { version, deprecated } of known.rows) {
    const said = received.versions.get(version)
    const after = deprecationOf(said?.deprecated)
    if (said === undefined || after === (deprecated ?? undefined)) continue
    await catalog.change(
      {
        kind: 'review',
        ref: refOf(request, name, version),
        judge: (before, now) => {
          const mark = after === undefined ? undefined : { reason: after, by: actorOf(request.caller).name, at: now }
          return {
            after: { ...before, facts: marking.set(before.facts as NpmFacts, mark), changed_at: now },
            fact: {
              action: 'TAG',
              result: 'SUCCESS',
              facts: { kind: 'package.deprecated', ...(after === undefined ? {} : { reason: after }) },
            },
          }
        },
      },
      actorOf(request.caller),
    )
  }
  return json(DONE)
}

/** Refuses a change of what the client has not seen. */
function staleOf(revision: string, said: string): RegistryAnswer | undefined {
  if (said === revision || said === 'undefined') return undefined
  return refused(409, 'Somebody changed this package meanwhile. Nothing was removed; look at it and try again.')
}

/** What was unpublished is deleted by its file; the document before that only has to be of today. */
export async function announceUnpublish(
  { packuments }: NpmDeps,
  request: RegistryRequest,
  { name, revision }: { readonly name: string; readonly revision: string },
): Promise<RegistryAnswer> {
  const newest = await packuments.revision(request, name)
  if (newest === undefined) return noPackage(name, request.registry.codename)
  return staleOf(newest, revision) ?? json({ ...DONE, id: name, rev: newest })
}

/** Deletes one version, or all of them. */
export async function unpublish(
  { catalog, packuments }: NpmDeps,
  request: RegistryRequest,
  { name, revision, version }: { readonly name: string; readonly revision: string; readonly version?: string },
): Promise<RegistryAnswer> {
  const { codename } = request.registry
  // the rows first: what comes after them makes another revision
  const known = await packuments.rows(request, name)
  const newest = await packuments.revision(request, name)
  if (newest === undefined || known === undefined) return noPackage(name, codename)
  const stale = staleOf(newest, revision)
  if (stale !== undefined) return stale
  const versions = known.rows.map(row => row.version).filter(one => version === undefined || one === version)
  if (version !== undefined && versions.length === 0) return noVersion(name, version, codename)
  for (const one of versions)
    await catalog.change(
      { kind: 'delete', ref: refOf(request, name, one), why: 'npm unpublish' },
      actorOf(request.caller),
    )
  return json(DONE)
}

/** The text of a small JSON body. @throws bad_request */
async function readText({ body }: Pick<RegistryRequest, 'body'>): Promise<string> {
  const bytes = await readSmall(chunksOf(body), MOST_TAG_BYTES)
  if (bytes === undefined)
    return fail('bad_request', { said: 'The body is a version as a JSON text, and this is longer.' })
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (typeof value === 'string') return value
  } catch {
    // refused below as everything else that is no text
  }
  return fail('bad_request', { said: 'The body is no version as a JSON text, such as "1.0.0".' })
}

/** `PUT` and `DELETE` below `/-/package/<name>/dist-tags`. Undefined: no address of it. */
export async function changeTag(
  { catalog, packuments }: NpmDeps,
  request: RegistryRequest,
  { name, tag }: { readonly name: string; readonly tag: string },
): Promise<RegistryAnswer | undefined> {
  const { method, registry, caller, console } = request
  const known = await packuments.rows(request, name)
  if (known === undefined) return noPackage(name, registry.codename)
  const of = packageOf(request, name)
  if (method === 'PUT' || method === 'POST') {
    caller.need('write')
    const why = complainTag(tag)
    if (why !== undefined) return refused(422, `The tag ${tag.slice(0, 80)} is not taken: ${why}.`)
    const version = await readText(request)
    const row = known.rows.find(one => one.version === version)
    if (row === undefined) return noVersion(name, version, registry.codename)
    if (!isServed(row.state) && row.held !== null)
      return refused(
        409,
        `${name}@${version} is not served, so no tag may name it. ${whyHeld(row.held, console).sentence}`,
      )
    await catalog.change({ kind: 'tag', of, tag, version }, actorOf(request.caller))
    return json(DONE, { status: 201 })
  }
  if (method !== 'DELETE') return undefined
  caller.need('write')
  if (tag === LATEST) return refused(422, 'The tag latest always names a version. Let it name another one instead.')
  if (!known.tags.has(tag))
    return refused(404, `There is no tag ${tag.slice(0, 100)} of ${name} in the registry ${registry.codename}.`)
  await forgetWanted(catalog, request, { name, tag, known })
  await catalog.change({ kind: 'tag', of, tag }, actorOf(request.caller)).catch(ignoreMissing)
  return json(DONE)
}

/** A tag that only came with an approved version has no row of its own. */
function ignoreMissing(error: unknown): void {
  if (!isRefusal(error, 'tag_not_found')) throw error
}

/** Versions that were published with a tag that is removed must not bring it back. */
async function forgetWanted(
  catalog: NpmDeps['catalog'],
  request: RegistryRequest,
  { name, tag, known }: { readonly name: string; readonly tag: string; readonly known: NameRows },
): Promise<void> {
  for (const { version, wanted_tags } of known.rows) {
    if (wanted_tags?.includes(tag) !== true) continue
    await catalog.change(
      {
        kind: 'review',
        ref: refOf(request, name, version),
        judge: (before, now) => {
          const facts = before.facts as NpmFacts
          const wantedTags = (facts.wantedTags ?? []).filter(one => one !== tag)
          return { after: { ...before, facts: { ...facts, wantedTags }, changed_at: now } }
        },
      },
      actorOf(request.caller),
    )
  }
}
