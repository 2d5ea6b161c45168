import type { Progress, Run, WorkKind } from '../../server/core/work.ts'
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

/** The run of a job that no table knows, with the steps that it took. */
export function runAlone<Cursor>(
  options: { readonly cursor?: Cursor; readonly signal?: AbortSignal } = {},
): Run<Cursor> & { readonly steps: Progress<Cursor>[] } {
  const { cursor, signal = new AbortController().signal } = options
  const steps: Progress<Cursor>[] = []
  return {
    id: '0badcafe',
    by: 'ada',
    requestId: undefined,
    signal,
    cursor,
    steps,
    step: async progress => {
      signal.throwIfAborted()
      steps.push(progress)
    },
  }
}
