import { Worker } from 'node:worker_threads'
import { fail } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Clock } from '../../lib/clock.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { Malformed } from '../../lib/limited.ts'
import { ecosystemsOf } from '../match/ecosystems.ts'
import { OlderData } from './carry-over.ts'
import type { ImportResult } from './import.ts'
import { ImportRunning } from './import-lock.ts'
import type { ImportFile, ImportJob } from '../read/run.ts'

/** The result as it crosses threads, where errors lose their class. */
export type ImportAnswer =
  | { readonly kind: 'done'; readonly result: ImportResult }
  | { readonly kind: 'bad' | 'older' | 'running' | 'no_room' | 'broken'; readonly why: string }

/** Turns the end of an import into a value. */
export async function answerOf(work: Promise<ImportResult>): Promise<ImportAnswer> {
  try {
    return { kind: 'done', result: await work }
  } catch (error) {
    if (error instanceof Malformed) return { kind: 'bad', why: error.why }
    if (error instanceof OlderData) return { kind: 'older', why: error.message }
    if (error instanceof ImportRunning) return { kind: 'running', why: error.message }
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT') return { kind: 'no_room', why: 'the disk is full' }
    return { kind: 'broken', why: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

/** The result; throws the refusal. */
export function resultOf(answer: ImportAnswer): ImportResult {
  switch (answer.kind) {
    case 'done':
      return answer.result
    case 'bad':
      return fail('bad_database', { why: answer.why })
    case 'older':
      return fail('older_database', { why: answer.why })
    case 'running':
      return fail('import_running', {})
    case 'no_room':
      return fail('storage_full', {})
    case 'broken':
      throw new Error(`the import broke: ${answer.why}`)
  }
}

/** The running and the last import. Times are ISO 8601. */
export interface ImportState {
  readonly running: boolean
  readonly since?: string
  readonly last?: { readonly at: string; readonly ok: boolean; readonly said: string }
}

export interface Importer {
  /**
   * Compiles the files into a new generation in a thread of its own, one import after the other.
   * @throws bad_database, older_database, import_running, storage_full; then the old data stay live
   */
  import(
    files: readonly ImportFile[],
    options?: { readonly force?: boolean; readonly trusted?: boolean },
  ): Promise<ImportResult>
  state(): ImportState
  /** Waits for the running import. */
  stop(): Promise<void>
}

export interface ImporterDeps {
  readonly security: string
  /** The program of the thread: `cli/vulndb-worker`. */
  readonly worker: string
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'all'>
  /** Armoured keys, one of which must have signed a bundle; empty: none is required. */
  readonly key: () => string
  /** Called after an import that changed something. */
  readonly onChanged: (result: ImportResult) => void
}

// the largest feeds need a few hundred megabytes while they are sorted; the heap of the thread is not the daemon's
const LIMITS = { maxOldGenerationSizeMb: 1_536, maxYoungGenerationSizeMb: 32 }

function compileInThread(worker: string, job: ImportJob): Promise<ImportAnswer> {
  return new Promise(resolve => {
    const thread = new Worker(worker, { workerData: job, resourceLimits: LIMITS })
    thread.once('message', resolve)
    thread.once('error', error => resolve({ kind: 'broken', why: error.stack ?? error.message }))
    thread.once('exit', code =>
      resolve({ kind: 'broken', why: `the thread ended with ${code} before it had answered` }),
    )
  })
}

/** Makes the importer over `/repos/security/vulndb`. */
export function createImporter({ security, worker, clock, repositories, key, onChanged }: ImporterDeps): Importer {
  const lock = createKeyedLock()
  let state: ImportState = { running: false }
  let busy: Promise<unknown> = Promise.resolve()

  async function run(
    files: readonly ImportFile[],
    { force = false, trusted = false }: { readonly force?: boolean; readonly trusted?: boolean },
  ): Promise<ImportResult> {
    const now = clock.now().toISOString()
    state = { ...state, running: true, since: now }
    const finish = (ok: boolean, said: string): void => {
      state = { running: false, last: { at: clock.now().toISOString(), ok, said } }
    }
    try {
      // the daemon fetched it over a checked connection; it is not a bundle and cannot be signed
      const result = resultOf(
        await compileInThread(worker, {
          security,
          files,
          force,
          key: trusted ? '' : key(),
          now,
          ecosystems: ecosystemsOf(repositories),
        }),
      )
      finish(
        true,
        result.status === 'unchanged'
          ? 'nothing new'
          : `${result.sources.length} ${result.sources.length === 1 ? 'source' : 'sources'}`,
      )
      if (result.status === 'imported') onChanged(result)
      return result
    } catch (error) {
      finish(false, error instanceof Error ? error.message.slice(0, 500) : 'it broke')
      throw error
    }
  }

  return {
    import(files, options = {}) {
      const work = lock.run('import', () => run(files, options))
      busy = work.catch(() => undefined)
      return work
    },
    state: () => state,
    stop: async () => {
      await busy
    },
  }
}
