import type { Handlers } from '../../core/contract.ts'
import { readCodename, readDefinition } from '../../core/definition.ts'
import { clearPlace, inTurn, refuseUsed, remove, save, viewOf, type OwnDistributionDeps } from './changes.ts'
import type { ownDistributions } from './contract.ts'

export const ownDistributionHandlers: Handlers<typeof ownDistributions, OwnDistributionDeps> = {
  'GET /distributions/{codename}/definition': ({ repositories }, { params, viewer }) =>
    viewOf(repositories.seenBy(viewer).trees.need(params.codename)),
  'POST /distributions/': (deps, { body: { codename, ...wish }, who, raw }) =>
    inTurn(deps, codename, async () => {
      const one = readDefinition(readCodename(codename, deps), wish, { ...deps, scanners: await deps.scanners() })
      await clearPlace(deps, one)
      return save(deps, one, { by: { name: who.name, ip: raw.clientIp }, kind: 'added' })
    }),
  'PATCH /distributions/{codename}': (deps, { params, body, who, raw }) =>
    inTurn(deps, params.codename, async () => {
      const before = deps.repositories.trees.need(params.codename)
      const after = readDefinition(before.codename, body, { ...deps, scanners: await deps.scanners(), before })
      return save(deps, after, {
        by: { name: who.name, ip: raw.clientIp },
        kind: 'changed',
        check: tx => refuseUsed(tx, before, after),
      })
    }),
  'DELETE /distributions/{codename}': (deps, { params, who, raw }) =>
    inTurn(deps, params.codename, () => remove(deps, params.codename, { name: who.name, ip: raw.clientIp })),
  'POST /distributions/{codename}/retire': (deps, { params, who, raw }) =>
    inTurn(deps, params.codename, () =>
      save(
        deps,
        { ...deps.repositories.trees.need(params.codename), state: 'retired' },
        { by: { name: who.name, ip: raw.clientIp }, kind: 'retired' },
      ),
    ),
  'POST /distributions/{codename}/reactivate': (deps, { params, who, raw }) =>
    inTurn(deps, params.codename, () =>
      save(
        deps,
        { ...deps.repositories.trees.need(params.codename), state: 'active' },
        { by: { name: who.name, ip: raw.clientIp }, kind: 'reactivated' },
      ),
    ),
}
