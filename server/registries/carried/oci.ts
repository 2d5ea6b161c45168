import { readFile } from 'node:fs/promises'
import { putWaitingTag, removeWaitingTag } from '../../catalog/queries/oci-lists.ts'
import { findRemoteTag, saveRemoteTag, saveServed } from '../../catalog/queries/oci-remote.ts'
import { readStates } from '../../catalog/queries/oci.ts'
import type { SpooledFile } from '../../files/spool.ts'
import { MAX_DOCUMENT, readDocument, type OciDocument } from '../../formats/oci/document.ts'
import type { OciFacts } from '../../formats/oci/facts.ts'
import { refuse } from '../../formats/refuse.ts'
import { isoNow } from '../../lib/clock.ts'
import { Malformed, malformed } from '../../lib/limited.ts'
import { ALREADY, DONE, laterAsked, type CarriedRules } from './rules.ts'

const digestsOf = ({ blob: { sha256, sha512 } }: SpooledFile): readonly string[] => [
  `sha256:${sha256}`,
  `sha512:${sha512}`,
]

/** Every blob that the manifest names must have come with it, and no other. @throws Malformed */
function needBlobs({ config, layers }: OciDocument, beside: readonly SpooledFile[]): void {
  const came = new Map(beside.map(one => [one.filename, one]))
  for (const one of beside)
    if (!digestsOf(one).includes(one.filename)) malformed(`the bytes called ${one.filename} have another digest`)
  const parts = [...(config === undefined ? [] : [config]), ...layers]
  for (const { digest, size, urls } of parts) {
    const blob = came.get(digest)?.blob
    // what clients fetch from elsewhere need not come along
    if (blob === undefined && urls !== undefined) continue
    if (blob === undefined) malformed(`it names the blob ${digest}, which did not come along`)
    else if (blob.size !== size) malformed(`it says that ${digest} has ${size} bytes, and it has ${blob.size}`)
  }
  const odd = beside.find(({ filename }) => !parts.some(({ digest }) => digest === filename))
  if (odd !== undefined) malformed(`it does not name the blob ${odd.filename}, which came along`)
}

/** A manifest and the blobs that it names. */
export const carriedOci: CarriedRules = {
  async prepare({ db }, { ref, file }) {
    const main = { ...file, filename: ref.name }
    let document: OciDocument
    try {
      if (file.blob.size > MAX_DOCUMENT) malformed('a manifest has at most 4 MiB')
      document = readDocument(file.bytes ?? (await readFile(file.path)))
      needBlobs(document, file.beside ?? [])
    } catch (error) {
      if (error instanceof Malformed) return refuse(`${ref.name}@${ref.version}`, error)
      throw error
    }
    const states = await readStates(
      db,
      ref,
      document.manifests.map(({ digest }) => digest),
    )
    const held = [...states].find(([, state]) => state !== 'published')
    return {
      file: main,
      ...(held === undefined ? {} : { heldFor: `It names the manifest ${held[0]}, which is not served.` }),
    }
  },
  entryOf({ manifest: { facts } }) {
    const { media_type: type, subject } = facts as OciFacts
    return Promise.resolve({ facts: { media_type: type, ...(subject === undefined ? {} : { about: subject }) } })
  },
  markFacts: () => ({}),
  tags: {
    areCatalogued: true,
    wait: ({ db, clock }, { ref: { codename, name, version }, tag }, actor) =>
      putWaitingTag(db, { codename, name }, { tag, version, by: actor.name, at: isoNow(clock) }),
    async list({ db, clock }, { ref: { codename, name, version }, tag, at }) {
      const known = await findRemoteTag(db, { codename, name, tag })
      if (known?.digest === version && known.served[0] === version) return ALREADY
      if (known?.is_carried === false && known.checked_at.toISOString() > at) return laterAsked(tag, known.checked_at)
      await saveRemoteTag(db, { codename, name, tag }, { digest: version, now: clock.now() })
      await saveServed(db, { codename, name, tag }, version)
      return DONE
    },
    // what is named now counts, whatever was pushed before
    moved: ({ db }, { ref: { codename, name }, tag }) => removeWaitingTag(db, { codename, name }, { tag }),
  },
}
