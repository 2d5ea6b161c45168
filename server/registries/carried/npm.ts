import { randomUUID } from 'node:crypto'
import { findCarriedName, setCarriedTag } from '../../catalog/queries/remote-carried.ts'
import type { Mark } from '../../core/mark.ts'
import { together } from '../../files/spool.ts'
import type { NpmFacts } from '../../formats/npm/facts.ts'
import { tarballName } from '../../formats/npm/name.ts'
import { refuse } from '../../formats/refuse.ts'
import { Malformed } from '../../lib/limited.ts'
import { ALREADY, DONE, laterAsked, type CarriedRules } from './rules.ts'

const markFacts = ({ deprecated }: Mark): Readonly<Record<string, unknown>> =>
  deprecated === undefined ? {} : { deprecated }

/** A tarball, and beside it the provenance that it was published with. */
export const carriedNpm: CarriedRules = {
  prepare(_, { ref, file }) {
    const name = tarballName(ref)
    const { beside = [] } = file
    const odd = beside.find(({ filename }) => filename !== `${name.slice(0, -4)}.sigstore`)
    if (odd !== undefined || beside.length > 1)
      refuse(name, new Malformed(`beside it comes ${JSON.stringify(odd?.filename ?? 'more than its provenance')}`))
    const main = { ...file, filename: name }
    return Promise.resolve({ file: beside.length === 0 ? main : together(main, beside) })
  },
  entryOf({ manifest: { facts, files, ref } }, mark) {
    const { full, short, fileCount, unpackedSize } = facts as NpmFacts
    const { sha512, sha1, size } = files[0].blob
    return Promise.resolve({
      file: { url: '', filename: tarballName(ref), size, digests: { sha512, sha1 } },
      facts: { dist: { fileCount, unpackedSize }, ...markFacts(mark) },
      full_document: full,
      short_document: short,
    })
  },
  markFacts,
  tags: {
    areCatalogued: false,
    async wait({ catalog }, { ref, tag }, actor) {
      await catalog.change(
        {
          kind: 'review',
          ref,
          judge: (before, now) => {
            const facts = before.facts as NpmFacts
            const { wantedTags = [] } = facts
            if (wantedTags.includes(tag)) return undefined
            return { after: { ...before, facts: { ...facts, wantedTags: [...wantedTags, tag] }, changed_at: now } }
          },
        },
        actor,
      )
    },
    async list({ db }, { ref: { codename, name, version }, tag, at }) {
      const known = await findCarriedName(db, { codename, name }, tag)
      if (known?.version === version) return ALREADY
      if (known?.is_carried === false && known.checked_at.toISOString() > at) return laterAsked(tag, known.checked_at)
      await setCarriedTag(db, { codename, name }, { tag, version, revision: randomUUID() })
      return DONE
    },
  },
}
