import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import type { Outbox } from '../../db/outbox.ts'
import { JUDGE } from '../../inventory/intake.ts'
import { judgeMachine, listStale, type JudgeDeps } from '../../inventory/judge.ts'
import { SCAN, scanWork, type ScanDeps } from '../../inventory/scan.ts'
import { forgetScans } from '../../inventory/scan-log.ts'
import type { Log } from '../../lib/log.ts'
import { dailyAt } from '../../settings/daily.ts'
import type { Settings } from '../../settings/store.ts'
import type { Matcher } from '../../scanners/matcher.ts'
import { clients } from './client-contract.ts'
import { clientHandlers, type ClientRouteDeps } from './client-handlers.ts'
import { inventory } from './contract.ts'
import { inventoryHandlers } from './handlers.ts'
import { reportHandlers, type ReportDeps } from './report-handlers.ts'
import { scanHandlers } from './scan-handlers.ts'

export interface InventoryNeeds extends Omit<ClientRouteDeps, 'changed'>, Omit<ReportDeps, 'outbox'> {
  readonly repositories: ClientRouteDeps['repositories'] & JudgeDeps['repositories']
  readonly outbox: Pick<Outbox, 'owe' | 'oweAll' | 'nudge'>
  readonly settings: Pick<Settings, 'now'>
  readonly audit: ClientRouteDeps['audit'] & ScanDeps['audit']
  readonly worker: Jobs
  readonly log: Log
  readonly matcher: Matcher
  readonly vulndb: { onChanged(listener: () => void): void }
}

const DAY_MS = 86_400_000

/** Machines: what they run, what is newer here, what is wrong with it. */
export function composeInventory(needs: InventoryNeeds): Feature {
  const { db, clock, outbox, settings, vulndb, log, worker } = needs
  const judging: JudgeDeps = needs

  /** Owes a comparison of every machine that was compared with what is no longer so. */
  async function followChanges(): Promise<void> {
    const stale = await listStale(judging)
    if (stale.length === 0) return
    await outbox.oweAll(db, new Map(stale.map(id => [`${JUDGE}:${id}`, 0])))
    outbox.nudge()
  }
  vulndb.onChanged(() => {
    followChanges().catch((error: unknown) =>
      log.error({ err: error }, 'machines are not compared with the new data yet'),
    )
  })

  /** Asks for a scan of every machine that may be asked. */
  async function scanAll(): Promise<void> {
    const rows = await db.query<{ id: number; distribution: string | null }>(
      `select c.id, c.distribution from inventory_client c left join inventory_known_host k on k.client_id = c.id
      where c.connection_type = 'ssh' and c.enabled and k.offered_at is null order by c.id`,
    )
    for (const { id, distribution } of rows) {
      const codenames = distribution === null ? {} : { codenames: [distribution] }
      await worker.ask({ kind: SCAN, target: String(id), request: { client_id: id }, ...codenames, by: 'system' })
    }
  }

  const deps = {
    ...needs,
    jobs: worker,
    changed: (tx: Parameters<Outbox['owe']>[0], id: number) => outbox.owe(tx, `${JUDGE}:${id}`),
  }
  return {
    routes: [
      ...bind(clients, clientHandlers, deps),
      ...bind(inventory, { ...inventoryHandlers, ...reportHandlers, ...scanHandlers }, deps),
    ],
    work: [scanWork(needs) as WorkKind],
    outwardDebts: {
      [JUDGE]: {
        batch: 20,
        deliver: async ids => {
          for (const id of ids) await judgeMachine(judging, Number(id))
        },
      },
    },
    jobs: [
      {
        id: 'inventory-scan',
        name: 'Ask all machines over SSH',
        when: () => dailyAt(settings.now().inventory),
        daily: true,
        run: scanAll,
      },
      {
        id: 'inventory-compare',
        name: 'Compare machines with new packages and new vulnerability data',
        when: () => '*/10 * * * *',
        run: followChanges,
      },
      {
        id: 'inventory-history',
        name: 'Forget old scans of machines',
        when: () => '40 3 * * *',
        daily: true,
        run: async () => {
          const before = new Date(clock.now().getTime() - settings.now().inventory.history_days * DAY_MS)
          while (await forgetScans(db, before)) {
            // so many at a time: no transaction is long
          }
        },
      },
    ],
  }
}
