import type { Changed } from '../../catalog/change.ts'
import { readDocumentMark } from '../../catalog/queries/registry-documents.ts'
import { fail } from '../../core/errors.ts'
import type { Manifest } from '../../core/manifest.ts'
import { together } from '../../files/spool.ts'
import { differenceFrom } from '../../formats/npm/difference.ts'
import type { NpmFacts } from '../../formats/npm/facts.ts'
import { npm } from '../../formats/npm/index.ts'
import { complainNewName, tarballName } from '../../formats/npm/name.ts'
import { complainTag } from '../../formats/npm/tag.ts'
import { cleanVersion } from '../../formats/npm/version.ts'
import { fieldsOf, type Fields } from '../../lib/fields.ts'
import { Malformed, quote } from '../../lib/limited.ts'
import { actorOf, admitVersion } from '../admit.ts'
import type { RegistryDeps } from '../deps.ts'
import { whyHeld } from '../held.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { packageOf } from '../refs.ts'
import { heldBack, json, notice } from './answers.ts'
import type { Attachment, Received } from './received.ts'
import { LATEST } from './tags.ts'

const ALGORITHMS = ['sha512', 'sha256', 'sha1'] as const

const refuse = (said: string): never => fail('bad_request', { said })

/** One version, as a document asks for it. */
interface Wanted {
  readonly version: string
  readonly manifest: Fields
  readonly tarball: Attachment
  readonly tags: readonly string[]
}

/** The tags of a document. @throws bad_request */
function tagsIn(distTags: Fields, version: string): string[] {
  return Object.entries(distTags).map(([tag, named]) => {
    const why = complainTag(tag)
    if (why !== undefined) refuse(`The tag ${quote(tag)} is not taken: ${why}.`)
    if (typeof named !== 'string' || cleanVersion(named) !== version)
      refuse(
        `The tag ${tag} names ${quote(String(named))}, and ${version} is published. Move other tags with npm dist-tag.`,
      )
    return tag
  })
}

/** The digests that the sender says, beside those of the bytes that came. @throws bad_request */
function needDigests({ file: { blob } }: Attachment, dist: Fields, length: unknown): void {
  if (typeof length === 'number' && length !== blob.size)
    refuse(`The attachment has ${blob.size} bytes, and the request says ${length}. Nothing was kept; send it again.`)
  const { shasum, integrity } = dist
  if (typeof shasum === 'string' && shasum.toLowerCase() !== blob.sha1)
    refuse(
      `The tarball has the SHA-1 ${blob.sha1}, and the request says ${quote(shasum)} (dist.shasum). Nothing was kept; send it again.`,
    )
  if (typeof integrity !== 'string') return
  for (const one of integrity.trim().split(/\s+/)) {
    const [, algorithm = '', said = ''] = /^([a-z0-9]+)-([^?]+)/.exec(one) ?? []
    const known = ALGORITHMS.find(name => name === algorithm)
    if (known === undefined) continue
    const is = Buffer.from(blob[known], 'hex').toString('base64')
    if (is !== said)
      refuse(
        `The tarball has the integrity ${known}-${is}, and the request says ${quote(one)} (dist.integrity). Nothing was kept; send it again.`,
      )
  }
}

/** The one version that a document brings. @throws bad_request, naming what is wrong */
function wantedIn(received: Received, name: string): Wanted {
  if (received.name !== name)
    refuse(`The request is about ${quote(name)} by its address and about ${quote(String(received.name))} by its name.`)
  const why = complainNewName(name)
  if (why !== undefined) refuse(`The package name ${quote(name)} is not allowed: ${why}.`)
  const [pair, ...more] = [...received.versions]
  if (pair === undefined || more.length > 0)
    return refuse(`The request names ${received.versions.size} versions beside its attachment; publish one at a time.`)
  const [key, manifest] = pair
  const version = cleanVersion(key)
  if (version === undefined)
    return refuse(`The version ${quote(key)} is not taken: semver.org wants three numbers such as 1.0.0.`)
  const [tarball] = received.tarballs
  if (tarball === undefined) return refuse('The request has no attachment.')
  needDigests(tarball, fieldsOf(manifest['dist']), received.lengths.get(tarball.filename))
  return { version, manifest, tarball, tags: tagsIn(received.distTags, version) }
}

/** @throws bad_request where the tarball is another version than the request is about */
function needRef(
  { ref }: Pick<Manifest, 'ref'>,
  { name, version }: { readonly name: string; readonly version: string },
): void {
  if (ref.name !== name || ref.version !== version)
    refuse(
      `The request is about ${name}@${version}, and the package.json in its tarball says ${ref.name}@${ref.version}. Pack and publish again.`,
    )
}

/** @throws bad_request where the request says something else than the tarball */
function needSame({ facts, paths }: Pick<Manifest, 'facts' | 'paths'>, outside: Fields): void {
  const inside = JSON.parse((facts as NpmFacts).full) as Fields
  let difference: string | undefined
  try {
    difference = differenceFrom(inside, outside, { paths, said: 'the request' })
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    difference = error.why
  }
  if (difference !== undefined)
    refuse(
      `The request and the package.json in its tarball differ: ${difference}. Clients would be told one and install the other; pack and publish again.`,
    )
}

/** What the publisher reads: that it is served, or why it is not. */
function told({ manifest, outcome }: Changed, console: string): RegistryAnswer {
  const { ref, state } = manifest
  if (state === 'quarantined' || state === 'rejected') return heldBack(manifest, console)
  const done = { ok: outcome === 'already' ? 'it is here already' : 'created new package', id: ref.name, success: true }
  if (state === 'published')
    return json(done, {
      status: outcome === 'already' ? 200 : 201,
      headers: outcome === 'already' ? notice(`${ref.name}@${ref.version} is here already, with the same bytes.`) : {},
    })
  const { sentence } = whyHeld(manifest, console)
  return json({ ...done, held: sentence }, { status: 202, headers: notice(sentence) })
}

/**
 * Takes one version through the gate. Its tags move at once where clients get it, else when it is approved.
 * Owns the files of the document.
 * @throws bad_request, bad_package, duplicate_conflict and what else `admitVersion` throws
 */
export async function publish(
  deps: RegistryDeps,
  request: RegistryRequest,
  { received, name }: { readonly received: Received; readonly name: string },
): Promise<RegistryAnswer> {
  const { registry, caller, console } = request
  let wanted: Wanted
  try {
    wanted = wantedIn(received, name)
  } catch (error) {
    await received.discard()
    throw error
  }
  const { version, manifest: outside, tarball, tags: asked } = wanted
  const of = packageOf(request, name)
  // npm always names one; the first version of a name is the latest where the request has no such tag
  const isNamed = asked.includes(LATEST) || (await readDocumentMark(deps.db, caller.viewer, of)) !== undefined
  const tags = isNamed ? asked : [...asked, LATEST]
  const named = { ...tarball.file, filename: tarballName({ name, version }) }
  const beside = received.provenance.map(({ file }) => ({
    ...file,
    filename: `${named.filename.slice(0, -4)}.sigstore`,
  }))
  const changed = await admitVersion(deps, {
    file: beside.length === 0 ? named : together(named, beside),
    format: npm,
    registry,
    actor: actorOf(caller),
    door: (change, actor) => {
      const { manifest } = change
      needRef(manifest, { name, version })
      needSame(manifest, outside)
      const facts: NpmFacts = {
        ...(manifest.facts as NpmFacts),
        ...(manifest.state === 'published' ? {} : { wantedTags: tags }),
      }
      return deps.catalog.change({ ...change, manifest: { ...manifest, facts } }, actor)
    },
  })
  needRef(changed.manifest, { name, version })
  if (changed.outcome === 'created' && changed.manifest.state === 'published')
    for (const tag of tags) await deps.catalog.change({ kind: 'tag', of, tag, version }, actorOf(caller))
  return told(changed, console)
}
