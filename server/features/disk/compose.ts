import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Layout } from '../../files/layout.ts'
import type { Log } from '../../lib/log.ts'
import { disk } from './contract.ts'
import { diskHandlers, type DiskRouteDeps } from './handlers.ts'
import { createReserve } from './reserve.ts'
import { createDiskWatch, type DiskWatch, type WatchDeps } from './watch.ts'

export interface DiskNeeds extends Omit<WatchDeps & DiskRouteDeps, 'reserve' | 'watch' | 'look'> {
  readonly layout: Layout
  readonly log: Pick<Log, 'warn'>
}

/** Room on the disk: how it was, when it will be full, who is told, and the reserve. */
export function composeDisk(needs: DiskNeeds): Feature & Pick<DiskWatch, 'facts'> {
  const reserve = createReserve(needs.layout)
  const watch = createDiskWatch({ ...needs, reserve })
  const stopping = new AbortController()
  return {
    routes: bind(disk, diskHandlers, { ...needs, reserve, watch }),
    facts: watch.facts,
    jobs: [
      {
        id: 'disk',
        name: 'Look how full the disk is',
        when: () => '*/10 * * * *',
        run: watch.sample,
      },
      {
        id: 'disk-reserve',
        name: 'Make the reserve on the disk again',
        when: () => '25 * * * *',
        run: () => watch.keepReserve(stopping.signal),
      },
    ],
    lead: () =>
      void watch.sample().catch((error: unknown) => needs.log.warn({ err: error }, 'the disk could not be looked at')),
    stop: () => stopping.abort(),
  }
}
