import { AppError, fail } from '../core/errors.ts'
import type { Jobs, Order } from '../core/work.ts'

/**
 * Asks for a job and waits for its result, for routes that answer with it. The job goes on when the caller goes away,
 * and whoever asks for the same meanwhile waits for this one.
 * @throws what the job was refused with, job_cancelled, job_failed
 */
export async function answerOf<Result>(jobs: Jobs, order: Order, signal: AbortSignal): Promise<Result> {
  const { id } = await jobs.ask(order)
  const { state, result, error } = await jobs.ended(id, signal)
  if (state === 'cancelled') fail('job_cancelled', {})
  if (error !== undefined) throw new AppError(error.code, error.facts)
  return result as Result
}
