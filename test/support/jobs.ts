import type { WorkKind } from '../../server/core/work.ts'
import type { Db } from '../../server/db/db.ts'
import { createWorker, type Worker } from '../../server/work/worker.ts'

/** A worker on this database that does these kinds of work; errors of jobs go to `onError`. */
export async function startWorker(
  db: Db,
  kinds: readonly WorkKind[],
  onError: (facts: unknown) => void = facts => console.error(facts),
): Promise<Worker> {
  const worker = createWorker({ db, log: { error: onError, warn: onError, info: () => undefined }, lookMs: 50 })
  worker.handle(kinds)
  await worker.start()
  return worker
}
