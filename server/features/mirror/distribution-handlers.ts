import { needScope } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { maySee } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { compareMirrored, type MirrorDifference } from '../../imports/mirror/compare.ts'
import { freeze, listFrozen, thaw } from '../../imports/mirror/frozen.ts'
import { listsOf } from '../../imports/mirror/lists.ts'
import { listReports } from '../../imports/mirror/report.ts'
import { listRules, WHOLE } from '../../imports/mirror/rules.ts'
import { isActive, isSeen } from '../../imports/source-rules.ts'
import type { mirror } from './contract.ts'
import type { MirrorRouteDeps } from './deps.ts'

type Rows = Pick<
  typeof mirror,
  | 'GET /import/mirror/distributions'
  | 'POST /import/mirror/distributions/{codename}/freeze'
  | 'DELETE /import/mirror/distributions/{codename}/freeze'
  | 'GET /import/mirror/distributions/{codename}/compare'
>

const SHOWN = 1_000

async function frozenOf(db: Queryable, codename: string) {
  const found = (await listFrozen(db)).find(one => one.codename === codename)
  return found === undefined
    ? null
    : { reason: found.reason, frozen_by: found.frozen_by, frozen_at: found.frozen_at.toISOString() }
}

const count = (found: readonly MirrorDifference[], standing: MirrorDifference['standing']): number =>
  found.filter(one => one.standing === standing).length

export const distributionHandlers: Handlers<Rows, MirrorRouteDeps> = {
  'GET /import/mirror/distributions': async ({ db, repositories, listSources }, { viewer }) => {
    const sources = (await listSources()).filter(source => isActive(source) && isSeen(source, viewer.hidden))
    const frozen = new Map((await listFrozen(db)).map(one => [one.codename, one]))
    const codenames = [...new Set([...sources.flatMap(one => [...one.codenames]), ...frozen.keys()])].toSorted()
    const seen = repositories.seenBy(viewer)
    return {
      distributions: codenames
        .filter(codename => maySee(viewer, codename) && seen.find(codename)?.state === 'active')
        .map(codename => {
          const freezing = frozen.get(codename)
          return {
            codename,
            sources: sources.filter(one => one.codenames.some(other => other === codename)).map(({ key }) => key),
            frozen:
              freezing === undefined
                ? null
                : {
                    reason: freezing.reason,
                    frozen_by: freezing.frozen_by,
                    frozen_at: freezing.frozen_at.toISOString(),
                  },
          }
        }),
    }
  },
  'POST /import/mirror/distributions/{codename}/freeze': async (deps, { params, body, who, viewer, raw }) => {
    const { db, audit, outbox, repositories } = deps
    const { codename } = repositories.seenBy(viewer).get(params.codename)
    needScope(who, codename)
    const reason = (body.reason ?? '').trim()
    await db.tx(async tx => {
      if (!(await freeze(tx, { codename, reason, by: who.name }))) return
      await audit.owe(tx, {
        action: 'MIRROR_FREEZE',
        result: 'SUCCESS',
        user: who.name,
        distribution: codename,
        facts: { kind: 'mirror.frozen', frozen: true, ...(reason === '' ? {} : { reason }) },
        ip: raw.clientIp,
      })
    })
    outbox.nudge()
    return { codename, frozen: await frozenOf(db, codename) }
  },
  'DELETE /import/mirror/distributions/{codename}/freeze': async (deps, { params, who, viewer, raw }) => {
    const { db, audit, outbox, repositories } = deps
    const { codename } = repositories.seenBy(viewer).get(params.codename)
    needScope(who, codename)
    await db.tx(async tx => {
      if (!(await thaw(tx, codename))) return
      await audit.owe(tx, {
        action: 'MIRROR_FREEZE',
        result: 'SUCCESS',
        user: who.name,
        distribution: codename,
        facts: { kind: 'mirror.frozen', frozen: false },
        ip: raw.clientIp,
      })
    })
    outbox.nudge()
    return { codename, frozen: await frozenOf(db, codename) }
  },
  'GET /import/mirror/distributions/{codename}/compare': async (deps, { params, viewer }) => {
    const { db, repositories, listSources, settings, formatOf } = deps
    const { codename } = repositories.seenBy(viewer).get(params.codename)
    const all = await listSources()
    const rules = await listRules(db)
    const reports = await listReports(db)
    const on = settings.now().mirror.sources
    const mirrored = all
      .filter(source => isSeen(source, viewer.hidden) && (on[source.key] === true || reports.has(source.id)))
      .map(source => {
        const rule = rules.get(source.id) ?? WHOLE
        return { source, rule, lists: listsOf(source, rule, repositories) }
      })
      .filter(({ lists }) => lists.some(list => list.codename === codename))
    if (mirrored.length === 0) fail('mirror_not_mirrored', { codename })
    const found = await compareMirrored(db, formatOf, { codename, sources: mirrored, all })
    return {
      codename,
      sources: mirrored.map(({ source }) => source.key),
      frozen: await frozenOf(db, codename),
      difference: {
        new: count(found, 'new'),
        newer: count(found, 'newer'),
        older: count(found, 'older'),
        changed: count(found, 'changed'),
        gone: count(found, 'gone'),
      },
      packages: found.slice(0, SHOWN),
    }
  },
}
