import type { FindFixes } from '../core/advisories.ts'
import type { Debts, Part } from '../core/feature.ts'
import type { Codename } from '../core/identity.ts'
import { FILES_LONGEST_MS } from '../db/outbox.ts'
import { createDocumentFiles } from '../files/documents.ts'
import type { Leadership } from '../db/leadership.ts'
import { getFormat } from '../formats/index.ts'
import type { Arrivals } from '../lib/arrivals.ts'
import type { Log } from '../lib/log.ts'
import type { Audit } from '../record/audit.ts'
import type { Events } from '../record/events.ts'
import { chooseExternalWriter } from './external-writer.ts'
import { createPublisher, type Publication, type Publisher, type PublisherDeps } from './publisher.ts'

export interface PublishNeeds extends Pick<PublisherDeps, 'db' | 'layout' | 'repositories' | 'keyring' | 'clock'> {
  readonly leadership: Leadership
  readonly events: Pick<Events, 'emit'>
  readonly audit: Pick<Audit, 'owe'>
  readonly log: Log
  /** The packages that are in the gate now. */
  readonly arrivals: Pick<Arrivals, 'quiet'>
  /** The advisories that the packages fix. */
  readonly fixes: FindFixes
  /** APT_PUBLISHER: who writes the indexes of APT distributions. */
  readonly aptPublisher: 'native' | 'reprepro'
}

/** The trees. */
export interface PublishPart extends Part {
  readonly publisher: Publisher
}

/** From this many changes in one publication on, packages arrive in bulk. */
const BULK = 4
const LONGEST_PAUSE_MS = 1_000
/** Who was told of a publication has sent the next package after so long: part of the time it took, and at most. */
const NEXT_COMES = { share: 0.25, mostMs: 100, afterManyMs: 1_000 } as const
/** A publication of so many changes came from requests with many files: the next one takes a moment to be made. */
const MANY = 100

/**
 * While packages arrive in bulk, two thirds of the time go to uploads, since each new tree is out of date at once; less
 * where none is on its way any more: then all of them wait for the tree. Single uploads never wait.
 *
 * Senders who wait for the tree come back together when they are told of it: the next one waits a moment for them all.
 * Otherwise they would fall into two halves that take turns, with twice as many trees.
 */
function paced(
  publish: Publisher['publish'],
  quiet: Arrivals['quiet'],
): (codename: Codename, join: () => Promise<void>) => Promise<void> {
  const after = new Map<Codename, { readonly free: number; readonly restMs: number }>()
  return async (codename, join) => {
    const { free = 0, restMs = 0 } = after.get(codename) ?? {}
    await quiet(Math.max(0, free - performance.now()), restMs)
    // those that came in meanwhile are in this tree, too, and need not wait for the next one
    await join()
    const done = await publish(codename)
    if (done !== undefined && done.changes >= BULK)
      after.set(codename, {
        free: performance.now() + Math.min(LONGEST_PAUSE_MS, 2 * done.ms),
        restMs: Math.min(done.changes >= MANY ? NEXT_COMES.afterManyMs : NEXT_COMES.mostMs, NEXT_COMES.share * done.ms),
      })
    else after.delete(codename)
  }
}

/** The debts to the trees. */
export function publishDebts(
  publisher: Pick<Publisher, 'publish' | 'publishContents'>,
  { quiet }: Pick<Arrivals, 'quiet'>,
): Debts {
  const publish = paced(publisher.publish, quiet)
  return {
    publish: {
      parallel: 2,
      longestMs: FILES_LONGEST_MS,
      deliver: ([codename], join) => publish(codename as Codename, join),
    },
    contents: {
      longestMs: FILES_LONGEST_MS,
      deliver: async ([codename]) => {
        await publisher.publishContents(codename as Codename)
      },
    },
  }
}

function tellPublished({ clock, events, log }: PublishNeeds): (publication: Publication) => void {
  return ({ codename, n, packages, ms, missing, shardsWritten }) => {
    log.info({ codename, n, packages, ms, pieces: shardsWritten }, 'published')
    if (missing.length > 0)
      log.error(
        { codename, missing: missing.slice(0, 20) },
        'packages without their bytes were left out; run npm run verify',
      )
    events.emit({ type: 'publication', at: clock.now().toISOString(), data: { codename, n, packages } })
  }
}

// an earlier leader that stands still is replaced within seconds, and may be woken long after
const RELINK_MS = 2_000
const RELINK_FOR_MS = 10 * 60_000

/** The publisher of every distribution, with its debts and the removal of old files. */
export function composePublish(needs: PublishNeeds): PublishPart {
  const { db, layout, repositories, keyring, clock, fixes, aptPublisher, arrivals, leadership, audit, log } = needs
  const publisher = createPublisher({
    db,
    layout,
    keyring,
    clock,
    formats: getFormat,
    repositories,
    leadership,
    onPublished: tellPublished(needs),
    onFirst: (tx, codename) =>
      audit.owe(tx, {
        action: 'INIT_DISTS',
        result: 'SUCCESS',
        user: 'system',
        distribution: codename,
        facts: { kind: 'distributions.set_up', distributions: [codename], by_package: true },
      }),
    fixes,
    documents: createDocumentFiles(layout),
    ...chooseExternalWriter(aptPublisher, { layout, repositories }),
  })
  let relinking: NodeJS.Timeout | undefined
  return {
    publisher,
    debts: publishDebts(publisher, arrivals),
    jobs: [
      {
        id: 'tidy',
        name: 'Remove old generations and index pieces',
        when: () => '*/10 * * * *',
        run: () => publisher.tidy(),
      },
    ],
    lead: () => {
      clearInterval(relinking)
      if (leadership.epoch() === 0) return // there is no other process
      const until = performance.now() + RELINK_FOR_MS
      relinking = setInterval(() => {
        if (performance.now() > until) clearInterval(relinking)
        publisher.relink().then(
          moved => moved.length > 0 && log.warn({ moved }, 'links of an earlier leader were put back'),
          (error: unknown) => log.error({ err: error }, 'the links of trees could not be checked'),
        )
      }, RELINK_MS)
    },
    stop: async () => {
      clearInterval(relinking)
      await publisher.close()
    },
  }
}
