import type { Feature, Part } from '../core/feature.ts'
import { handleDebts } from '../db/outbox.ts'
import type { Env } from '../env.ts'
import type { Listener } from '../http/listener.ts'
import type { Scheduler } from '../work/scheduler.ts'
import { watchForRestore } from './end-restore.ts'
import { followChanges } from './follow-changes.ts'
import { named, type Foundation } from './foundation.ts'
import type { ServiceLogs } from './logs.ts'
import { repair } from './repair.ts'
import { sweepUploads } from './replication.ts'
import type { Service } from './service.ts'

type Repair = Parameters<typeof repair>[0]

/** What is done with packages, as far as starting and stopping it goes. */
type Verbs = Omit<Parameters<typeof followChanges>[0], keyof Foundation | 'scheduler' | 'tellFixes'> &
  Readonly<Record<'renewal' | 'outbound' | 'vulndb' | 'review', Part>> & {
    readonly packages: Part & Pick<Repair, 'rebuild'>
    readonly trees: Part & Pick<Repair, 'publisher'>
    readonly upstreams: Part & { settle(): Promise<void> }
    readonly advisories: { follow(): Promise<void> }
  } & Pick<Repair, 'keys' | 'outlived'>

/** Everything that was composed. */
export interface Composed {
  readonly env: Env
  readonly base: Foundation
  readonly verbs: Verbs
  readonly http: HttpPart
  readonly logs: ServiceLogs
  readonly onRestore: () => void
  readonly features: readonly Feature[]
  readonly setup: SetupPart
  readonly uploads: Part
  readonly disk: Part
  readonly downloads: Part & { readonly soon: () => void }
  readonly health: Part
  readonly scheduler: Scheduler
}

interface HttpPart {
  open(): Promise<string>
  hold(doing: string): Promise<Listener>
  stop(): Promise<void>
}

interface SetupPart {
  readonly firstAdmin: {
    provision(admin: NonNullable<Env['admin']>): Promise<unknown>
    exists(): Promise<boolean>
  }
}

/** Starts the parts in order, hands leading over, and stops them in the other order. */
export async function createService(composed: Composed): Promise<Service> {
  const { env, base, verbs, http, logs, onRestore, features } = composed
  const { setup, uploads, disk, downloads, health, scheduler } = composed
  const { log } = logs
  const { outbox, worker, address, starting } = base
  const { outbound, upstreams, vulndb, packages, trees, renewal, keys, advisories, outlived, review } = verbs
  const parts: readonly Part[] = [packages, trees, renewal, base, outbound, upstreams, ...features]
  for (const { debts, work } of [...parts, vulndb, review]) {
    handleDebts(outbox, debts)
    worker.handle(work ?? [])
  }
  const tellFixes = (): Promise<void> =>
    advisories
      .follow()
      .catch((error: unknown) => log.error({ err: error }, 'the trees could not be marked for new advisories'))

  /** What nobody needs any longer of uploads that were on their way. */
  async function sweep(): Promise<void> {
    const { replicas, instance, layout, spool } = base
    if (replicas === undefined) await spool.sweep()
    else await sweepUploads(layout, { replicas, instance })
  }

  /** What one process of an installation does alone. */
  async function lead(): Promise<void> {
    await base.changes.look()
    if (base.replicas !== undefined) await sweep()
    await repair({
      ...named(base, 'start'),
      keys,
      publisher: trees.publisher,
      tellFixes,
      outlived,
      rebuild: packages.rebuild,
    })
    await upstreams.settle()
    for (const { outwardDebts } of parts) handleDebts(outbox, outwardDebts)
    outbox.start()
    await scheduler.start()
    await worker.start()
    for (const part of parts) part.lead?.()
  }

  async function follow(): Promise<void> {
    for (const one of [scheduler, worker, outbox]) await one.stop()
  }

  const watch = await watchForRestore(base.layout.root, onRestore)
  async function stopParts(): Promise<void> {
    watch.stop()
    const own = [uploads, disk, downloads, scheduler, worker, vulndb, review, health]
    for (const part of [...own, upstreams, outbound, outbox, trees, base]) await part.stop?.()
  }

  return {
    async start() {
      if (env.admin !== undefined) await setup.firstAdmin.provision(env.admin)
      // the trees are served from here on; routes answer that the service is starting
      const url = await http.open()
      address.opened(url)
      await base.replicas?.start()
      await sweep()
      base.changes.start()
      followChanges({ ...base, ...verbs, scheduler, tellFixes })
      await base.leadership.start({ gained: lead, lost: follow })
      logs.onTreesFinished(downloads.soon)
      for (const part of parts) part.start?.()
      starting.finish()
      watch.start()
      return { url, needsSetup: !(await setup.firstAdmin.exists()) }
    },
    async hold(doing) {
      const listener = await http.hold(doing)
      await stopParts()
      return { listener, logs }
    },
    async stop() {
      await http.stop()
      await stopParts()
      await logs.close()
    },
  }
}
