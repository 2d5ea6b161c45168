import type { WorkKind } from '../../core/work.ts'
import { isoOrNull } from '../../lib/clock.ts'
import type { JobView } from './contract.ts'
import type { JobRow } from './store.ts'

const rounded = (rate: number): number => Math.round(rate * 100) / 100

/** Items and bytes a second since this run began, and the seconds that remain at that rate. */
function paceOf(row: JobRow): Pick<JobView, 'items_per_second' | 'bytes_per_second' | 'remaining_seconds'> {
  const none = { items_per_second: null, bytes_per_second: null, remaining_seconds: null }
  if (row.run_at === null || row.moved_at === null || row.moved_at <= row.run_at) return none
  const seconds = (row.moved_at.getTime() - row.run_at.getTime()) / 1_000
  const items = (row.done - row.run_done) / seconds
  const bytes = (row.bytes - row.run_bytes) / seconds
  const left =
    row.total_bytes !== null && bytes > 0
      ? (row.total_bytes - row.bytes) / bytes
      : row.total !== null && items > 0
        ? (row.total - row.done) / items
        : undefined
  return {
    items_per_second: rounded(items),
    bytes_per_second: Math.round(bytes),
    remaining_seconds: left === undefined || row.state !== 'running' ? null : Math.max(0, Math.ceil(left)),
  }
}

/** @param work  undefined for a kind of an earlier release */
export function viewOf(row: JobRow, work: WorkKind | undefined, mayCancel: boolean): JobView {
  const isOpen = row.state === 'queued' || row.state === 'running'
  return {
    job_id: row.id,
    kind: row.kind,
    label: work?.name ?? row.kind,
    target: row.target,
    status: row.state,
    asked_by: row.asked_by,
    request_id: row.request_id,
    asked_at: row.asked_at.toISOString(),
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    done_count: row.done,
    total: row.total,
    bytes: row.bytes,
    total_bytes: row.total_bytes,
    ...paceOf(row),
    cancelling: isOpen && row.cancelled_by !== null,
    cancelled_by: row.cancelled_by,
    may_cancel: isOpen && mayCancel,
    log_count: row.told,
    result: row.result ?? null,
    error: row.error && { code: row.error.code, message: row.error.message },
  }
}
