/** When the disk below REPOS_ROOT is worth a word. 0 switches a limit off. */
export interface DiskLimits {
  readonly warn_used_pct: number
  readonly min_free_disk_gb: number
}

/** `filling`: people are told. `stopped`: nothing is taken in any more, so that what frees room can go on. */
export type DiskLevel = 'fine' | 'filling' | 'stopped'

/** What a disk of this fill means. */
export function levelOf(
  { freeBytes, used_pct: usedPct }: { readonly freeBytes: number; readonly used_pct: number },
  { warn_used_pct: warnPct, min_free_disk_gb: leastGb }: DiskLimits,
): DiskLevel {
  if (freeBytes < leastGb * 1024 ** 3) return 'stopped'
  return warnPct > 0 && usedPct >= warnPct ? 'filling' : 'fine'
}

/** The way out of a disk that is full, or becomes it. */
export const MAKE_ROOM =
  'Delete packages and backups that nobody needs, make the disk larger, or let an admin give the reserve back.'

/** When a disk will be full, as far as its past tells. Times ISO 8601. */
export interface Forecast {
  /** Whole days until nothing is free; null where that cannot be told, or would take more than ten years. */
  readonly days_until_full: number | null
  /** Whole days until uploads stop; 0 where they do. */
  readonly days_until_uploads_stop: number | null
  /** What is added in a day; negative where the disk empties; null with too few samples. */
  readonly bytes_per_day: number | null
  readonly samples: number
  readonly since: string | null
  /** Why there is no number of days, in a sentence. */
  readonly why: string | null
}

/** The file that is kept to be given back when the disk is full. */
export interface ReserveFacts {
  /** `none`: none is wanted. `kept`: it is there, whole. `missing`: it will be made when there is room. */
  readonly state: 'none' | 'kept' | 'missing'
  /** How large it is to be, and is. */
  readonly wanted_mb: number
  readonly kept_mb: number
  readonly given_back_at: string | null
  readonly given_back_by: string | null
  /** Why it is missing, and when it will be made, in a sentence. */
  readonly why: string | null
}
