import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import { createRoom } from '../../files/room.ts'
import type { Layout } from '../../files/layout.ts'
import type { Spool } from '../../files/spool.ts'
import { getFormat, switchesFor } from '../../formats/index.ts'
import { createAdoptRoots } from '../../imports/adopt/roots.ts'
import { adoptWork, type AdoptDeps } from '../../imports/adopt/work.ts'
import { createTreeReader } from '../../imports/bulk/tree.ts'
import { adoption } from './contract.ts'
import { adoptHandlers, type AdoptRouteDeps } from './handlers.ts'

export interface AdoptNeeds
  extends
    Omit<AdoptDeps, 'roots' | 'trees' | 'repositories' | 'formats'>,
    Pick<AdoptRouteDeps, 'outbox' | 'activeFormats'> {
  readonly worker: Jobs
  readonly layout: Pick<Layout, 'root' | 'incoming'>
  readonly spool: Pick<Spool, 'receive'>
  readonly repositories: Pick<Repositories, 'seenBy'>
  /** IMPORT_ROOTS */
  readonly importRoots: readonly string[]
  /** Where several processes have one root, those, and the name of this one. */
  readonly replicas: object | undefined
  readonly instance: string
}

/** Adoption of trees on this machine. */
export function composeAdopt(needs: AdoptNeeds): Feature {
  const { worker, layout, spool, settings, repositories, replicas, instance } = needs
  const roots = createAdoptRoots(needs.importRoots)
  const trees = createTreeReader({
    layout,
    spool,
    room: createRoom(layout, () => settings.now().disk),
    ...(replicas === undefined ? {} : { instance }),
  })
  return {
    routes: bind(adoption, adoptHandlers, { ...needs, roots, jobs: worker, formats: getFormat, switchesFor }),
    work: [
      adoptWork({ ...needs, roots, trees, repositories: repositories.seenBy(ALL_SEEING), formats: getFormat }),
    ] as WorkKind[],
  }
}
