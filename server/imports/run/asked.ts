import type { JobEnd, Jobs, Run, Telling } from '../../core/work.ts'
import type { Db, Queryable } from '../../db/db.ts'
import { allLines, nextMove } from '../../work/follow.ts'
import type { Worker } from '../../work/worker.ts'
import { IMPORT_PACKAGES, type ImportRequest } from './import-work.ts'

export interface AskingDeps {
  readonly db: Db
  readonly worker: Jobs & Pick<Worker, 'cancel' | 'onMoved'>
}

/** The job that was asked for as this part of another one. */
async function findAsked(db: Queryable, partOf: string): Promise<string | undefined> {
  const row = await db.first<{ id: string }>(
    `select id from job where kind = $1 and request->>'part_of' = $2 order by asked_at limit 1`,
    [IMPORT_PACKAGES, partOf],
  )
  return row?.id
}

/**
 * Asks for an import on behalf of a job, once however often it is called. @param request.part_of  names the job and
 * the place in it: never the same for two imports
 */
export async function askImport(
  { db, worker }: AskingDeps,
  request: ImportRequest & { readonly part_of: string },
  { by, requestId }: Pick<Run<unknown>, 'by' | 'requestId'>,
): Promise<string> {
  const known = await findAsked(db, request.part_of)
  if (known !== undefined) return known
  const { id } = await worker.ask({
    kind: IMPORT_PACKAGES,
    request: { ...request },
    target: request.group,
    codenames: [request.codename],
    by,
    ...(requestId === undefined ? {} : { requestId }),
  })
  return id
}

/** How far an import is. */
export interface Moved {
  /** Number of the last line that was told. */
  readonly seen: number
  readonly done: number
  readonly bytes: number
  readonly say: readonly Telling[]
}

/** The first lines of an import say who asked, and how much comes in; the last that it is done. */
const isOfPackage = ({ message }: Telling): boolean =>
  !/^(?:Asked for by |Done\.$|\d+ packages come in\.$)/.test(message)

/** Who cancelled a job; undefined where it goes on later. */
export async function cancelledBy(db: Queryable, id: string): Promise<string | undefined> {
  const row = await db.first<{ cancelled_by: string | null }>('select cancelled_by from job where id = $1', [id])
  return row?.cancelled_by ?? undefined
}

/**
 * Waits for the end of an import, and tells how far it is. When the job that waits is cancelled, so is the import.
 * @param given.seen  the last line that was told by an earlier run
 * @throws the reason of the run's signal, and what `told` throws
 */
export async function followImport(
  { db, worker }: AskingDeps,
  run: Pick<Run<unknown>, 'id' | 'signal'>,
  {
    id,
    seen: from,
    told,
  }: { readonly id: string; readonly seen: number; readonly told: (moved: Moved) => Promise<void> },
): Promise<JobEnd> {
  let seen = from
  try {
    for (;;) {
      run.signal.throwIfAborted()
      const job = await db.first<{ done: number; bytes: number; finished_at: Date | null }>(
        'select done, bytes, finished_at from job where id = $1',
        [id],
      )
      const moved = nextMove(worker, id, run.signal)
      const say: Telling[] = []
      for await (const { n, level, message } of allLines(db, id, seen)) {
        if (isOfPackage({ level, message })) say.push({ level, message })
        seen = n
      }
      if (job !== undefined) await told({ seen, done: job.done, bytes: job.bytes, say })
      if (job === undefined || job.finished_at !== null) return await worker.ended(id, run.signal)
      await moved
    }
  } catch (error) {
    const by = run.signal.aborted ? await cancelledBy(db, run.id) : undefined
    if (by !== undefined) await worker.cancel(id, by)
    throw error
  }
}
