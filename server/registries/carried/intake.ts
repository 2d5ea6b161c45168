import { randomUUID } from 'node:crypto'
import { addCarried, setCarriedFacts } from '../../catalog/queries/remote-carried.ts'
import { readTag, readTags } from '../../catalog/queries/tags.ts'
import type { Actor, Admit } from '../../catalog/change.ts'
import { isRefusal } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import { isServed } from '../../core/manifest.ts'
import type { Tag } from '../../core/tag.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Tx } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { passGate } from '../../pipeline/gate.ts'
import type { CarriedVersion, RegistryIntake } from '../../pipeline/registry-intake.ts'
import { tellAdmitted } from '../admit.ts'
import type { RegistryDeps } from '../deps.ts'
import { needForeign } from '../owned.ts'
import { isProxy } from '../remote/remote.ts'
import { carriedMaven } from './maven.ts'
import { carriedNpm } from './npm.ts'
import { carriedOci } from './oci.ts'
import { carriedPypi } from './pypi.ts'
import { ALREADY, DONE, type CarriedRules } from './rules.ts'

const RULES: Partial<Record<FormatId, CarriedRules>> = {
  npm: carriedNpm,
  pypi: carriedPypi,
  maven: carriedMaven,
  oci: carriedOci,
}

/** Takes in what another installation carried here. */
export function createIntake(deps: RegistryDeps): RegistryIntake {
  const { db, catalog, gate, clock } = deps
  // of files of one version the second sees that the first is held
  const locks = createKeyedLock()

  const rulesOf = (format: FormatId): CarriedRules => {
    const rules = RULES[format]
    if (rules === undefined) throw new Error(`the format ${format} has no registries`)
    return rules
  }

  const changedNow = () => ({ now: clock.now(), revision: randomUUID() })

  /** What a registry that reads through lists: before the version is there, so that none is ever without it. */
  async function list(change: Admit, { mark, publishedAt }: CarriedVersion): Promise<void> {
    const { codename, name, version, arch, format } = change.manifest.ref
    const { file, facts, full_document, short_document } = await rulesOf(format).entryOf(change, mark)
    await addCarried(
      db,
      { codename, name },
      {
        ...{ format, version, arch, sort_key: getFormat(format).versionKey(version), published_at: publishedAt },
        ...{ file, facts, full_document, short_document },
      },
      changedNow(),
    )
  }

  async function enter(change: Admit, actor: Actor, carried: CarriedVersion) {
    carried.check(change)
    if (isProxy(carried.registry)) {
      await list(change, carried)
      return catalog.change(change, actor)
    }
    const { manifest } = change
    const from = { by: carried.from, at: manifest.at }
    const facts = getFormat(manifest.ref.format).marking?.carry(manifest.facts, carried.mark, from) ?? manifest.facts
    return catalog.change({ ...change, manifest: { ...manifest, facts } }, actor)
  }

  async function admit(carried: CarriedVersion, signal: AbortSignal) {
    const { registry, ref, expectedSha256, from, actor, publishWithinMs, file: came } = carried
    const rules = rulesOf(ref.format)
    let taken = false
    try {
      if (isProxy(registry)) await needForeign(deps, ref)
      const { file, ...prepared } = await rules.prepare(deps, carried)
      const heldFor = carried.heldFor ?? prepared.heldFor
      taken = true
      const changed = await passGate(
        gate,
        {
          ...{ file, format: getFormat(ref.format), distribution: registry },
          ...{ expectedSha256, actor, from, publishWithinMs },
          ...(heldFor === undefined ? {} : { heldFor }),
        },
        signal,
        (change, by) => enter(change, by, carried),
      )
      carried.check(changed)
      tellAdmitted(deps, changed)
      if (changed.outcome === 'created' && !isProxy(registry)) await rules.after?.(deps, ref, carried)
      return changed
    } finally {
      if (!taken) await came.discard()
    }
  }

  return {
    admit: (carried, signal) =>
      locks.run(`${carried.registry.codename} ${carried.ref.name} ${carried.ref.version}`, () =>
        admit(carried, signal),
      ),
    async setTag({ registry, ref, tag, at, by }, actor) {
      const { format, codename, name, version } = ref
      const { tags } = rulesOf(format)
      if (tags === undefined) return { outcome: 'refused', why: 'Versions of this format have no tags.' }
      const why = getFormat(format).complainTag?.(tag)
      if (why !== undefined) return { outcome: 'refused', why: `The tag is not taken: ${why}.` }
      const manifest = await catalog.findKnown(ref)
      if (manifest?.state === 'pending_review' && !isProxy(registry)) {
        await tags.wait(deps, { ref, tag }, actor)
        return { outcome: 'waits', why: `${version} waits for review here; ${tag} names it once it is approved.` }
      }
      if (manifest === undefined || !isServed(manifest.state))
        return { outcome: 'refused', why: `${version} is not served here, so no tag names it.` }
      if (isProxy(registry)) {
        const fate = await tags.list(deps, { ref, tag, at })
        if (fate.outcome !== 'done' || !tags.areCatalogued) return fate
      }
      const of = { format, codename, name }
      const before = await readTag(db, ALL_SEEING, of, tag)
      if (before?.version === version) return ALREADY
      if (before !== undefined && before.at > at)
        return {
          outcome: 'stays',
          why: `${before.by} moved it to ${before.version} on ${before.at.slice(0, 10)}, later than it was moved there.`,
        }
      // somebody may have set it since it was read: what a person says here at this moment is newer
      const unless = async (tx: Tx): Promise<boolean> => {
        const now = await readTag(tx, ALL_SEEING, of, tag)
        return now?.version !== before?.version || now?.at !== before?.at
      }
      const { outcome } = await catalog.change({ kind: 'tag', of, tag, version, at, by, unless }, actor)
      if (outcome === 'already') return { outcome: 'stays', why: 'Somebody here set it at this moment.' }
      await tags.moved?.(deps, { ref, tag })
      return before === undefined ? DONE : { outcome: 'done', why: `It named ${before.version} before.` }
    },
    async keepTags({ registry, of, tags, until, by }, actor) {
      // what its upstream said last counts there
      if (isProxy(registry)) return []
      const kept = new Set(tags)
      const isTheirs = (one: Tag | undefined): boolean => one?.by === by && one.at <= until
      const gone: Tag[] = []
      for (const one of await readTags(db, ALL_SEEING, of)) {
        const { tag } = one
        if (kept.has(tag) || !isTheirs(one)) continue
        // somebody may have set it since it was read
        const unless = async (tx: Tx): Promise<boolean> => !isTheirs(await readTag(tx, ALL_SEEING, of, tag))
        try {
          const { outcome } = await catalog.change({ kind: 'tag', of, tag, unless }, actor)
          if (outcome === 'deleted') gone.push(one)
        } catch (error) {
          // somebody removed it meanwhile
          if (!isRefusal(error, 'tag_not_found')) throw error
        }
      }
      return gone
    },
    async setMark({ registry, ref, mark, from }, actor) {
      const { codename, name, version, arch } = ref
      const { markFacts } = rulesOf(ref.format)
      if (isProxy(registry)) {
        const facts = markFacts(mark)
        return (await setCarriedFacts(db, { codename, name, version, arch }, facts, changedNow())) ? DONE : ALREADY
      }
      const { marking } = getFormat(ref.format)
      if (marking === undefined) return { outcome: 'refused', why: 'Clients of this format know no such mark.' }
      let fate = ALREADY
      await catalog.change(
        {
          kind: 'review',
          ref,
          judge: (before, now) => {
            const facts = marking.carry(before.facts, mark, from)
            if (facts === undefined) {
              fate = { outcome: 'stays', why: 'Somebody here said something else of it, which stays.' }
              return undefined
            }
            if (facts === before.facts) return undefined
            fate = DONE
            const reason = mark.deprecated ?? mark.yanked?.reason
            return {
              after: { ...before, facts, changed_at: now },
              fact: {
                action: 'TAG',
                result: 'SUCCESS',
                facts: { kind: `package.${marking.kind}`, ...(reason === undefined ? {} : { reason }) },
              },
            }
          },
        },
        actor,
      )
      return fate
    },
  }
}
