import type { Run } from '../../core/work.ts'
import type { Source } from '../source.ts'
import { bringIn, type Went } from './bring.ts'
import { keyOf } from './lists.ts'
import { readPlace, savePlace, type MirrorRule } from './rules.ts'
import type { MirrorCursor, MirrorDeps } from './run.ts'
import { listWanted, type MirrorList, type Wanted } from './wanted.ts'

export interface ListOf {
  readonly source: Source
  readonly all: readonly Source[]
  readonly rule: MirrorRule
  readonly list: MirrorList
  readonly cursor: MirrorCursor
}

/** The wanted ones in the order of this run: from where it began to the end, then from the first. */
function inOrder(
  wanted: readonly Wanted[],
  after: string,
  { start, wrapped }: NonNullable<MirrorCursor['list']>,
): Wanted[] {
  const behind = wanted.filter(({ name }) => name > after && (!wrapped || name <= start))
  return wrapped ? behind : [...behind, ...wanted.filter(({ name }) => name <= start)]
}

/** Brings what a list wants, until it is through or the run has come to a bound. */
export async function mirrorList(deps: MirrorDeps, run: Run<MirrorCursor>, of: ListOf): Promise<Went<MirrorCursor>> {
  const { db } = deps
  const { source, list, cursor } = of
  const place = { sourceId: source.id, codename: list.codename, arch: list.arch }
  const { key: sourceKey } = source
  const went = await bringIn(deps, run, {
    ...{ list, sourceKey, cursor },
    group: source.codenames.length === 1 ? `mirror-${sourceKey}` : `mirror-${sourceKey}-${list.codename}`,
    async wanted(now) {
      const known = now.list?.key === keyOf(list) ? now.list : undefined
      const after = await readPlace(db, source.id, list.codename, list.arch)
      const state = known ?? { key: keyOf(list), start: after, wrapped: false }
      const siblings = of.all.filter(one => one.enabled && one.codenames.includes(list.codename))
      const sources = siblings.map(({ id }) => id)
      const security = siblings.filter(one => one.security).map(({ id }) => id)
      const wanted = await listWanted(db, { ...of, sources, security }, deps.formatOf(list.format))
      return { wanted: inOrder(wanted, after, state), cursor: { ...now, list: state } }
    },
    async passed(tx, now, through) {
      // not past the name: other versions of it may be left. What is here is not wanted again
      const { name = '' } = through.at(-1) ?? {}
      const { start = '', wrapped = false, key = keyOf(list) } = now.list ?? {}
      await savePlace(tx, { ...place, after: name })
      return { ...now, list: { key, start, wrapped: wrapped || name <= start } }
    },
  })
  if (went.end !== undefined) return went
  // the next run begins with the first again
  const ended = { ...went.cursor, list: undefined, done: [...went.cursor.done, keyOf(list)] }
  await db.tx(async tx => {
    await savePlace(tx, { ...place, after: '' })
    await run.step({ cursor: ended }, tx)
  })
  return { cursor: ended }
}
