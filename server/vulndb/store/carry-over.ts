import { existsSync, linkSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../read/run.ts'
import type { Before } from './tables.ts'

/** The data are older than those loaded. `force` accepts them nevertheless. */
export class OlderData extends Error {}
/** @throws OlderData unless forced */
export function refuseOlder({ job, before, loaded }: Run): void {
  if (job.force) return
  for (const { name, as_of: asOf, whole } of loaded.values()) {
    const known = before?.sources[name]
    if (whole && known !== undefined && asOf !== '' && known.as_of > asOf)
      throw new OlderData(`${name} is of ${asOf.slice(0, 10)}, and what is loaded is of ${known.as_of.slice(0, 10)}`)
  }
}

/**
 * Which rows of the generation before stay: not those whose source is replaced as a whole, nor records that came in
 * anew.
 */
export function keeper({ loaded, ids, job, before }: Run, folder: string | undefined): Before | undefined {
  if (before === undefined || folder === undefined) return undefined
  const replaced = new Set([...loaded.values()].filter(({ whole }) => whole).map(({ name }) => name))
  const newer = new Set<string>()
  return {
    folder,
    ecosystems: before.ecosystems,
    vectorDigits: before.vector_digits,
    mayDrop: sources => sources.some(source => replaced.has(source) || (ids.size > 0 && source.startsWith('osv/'))),
    keeps({ advisory }) {
      if (replaced.has(advisory.source)) return false
      const read = advisory.source.startsWith('osv/') ? ids.get(advisory.id) : undefined
      if (read === undefined) return true
      const changed = read.modified
      if (newer.has(advisory.id) && advisory.modified === changed) return true
      if (job.force || changed === '' || (advisory.modified ?? '') <= changed) return false
      // dumps of two ecosystems may hold one record in the state of different days
      if (advisory.source !== read.source) {
        newer.add(advisory.id)
        ids.set(advisory.id, { modified: advisory.modified ?? '', source: advisory.source })
        return true
      }
      throw new OlderData(
        `${advisory.id} was changed on ${changed.slice(0, 10)} there, and what is loaded is of ${advisory.modified?.slice(0, 10)}`,
      )
    },
  }
}

/** Hard-links the side tables of the generation before, where nothing new came in. */
export function carryIntel({ folder, before }: Run, previous: string | undefined): void {
  if (before === undefined || previous === undefined) return
  for (const table of ['.kev', '.epss', '.jars']) {
    if (existsSync(join(folder, table)) || !existsSync(join(previous, table))) continue
    mkdirSync(join(folder, table))
    for (const name of readdirSync(join(previous, table)))
      linkSync(join(previous, table, name), join(folder, table, name))
  }
}
