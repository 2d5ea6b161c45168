import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { DAY_MS, dayOf, lastDays } from '../../lib/days.ts'
import type { HostFacts } from './host.ts'

/** One day of a machine in UTC; numbers are null on a day without a sample. MB are 1024². */
export interface MachineDay {
  readonly date: string
  /** Hours of it with at least one sample. */
  readonly hours: number
  readonly load_mean: number | null
  readonly load_peak: number | null
  /** What programs could not have any more; null also where it could not be read. */
  readonly memory_mean_mb: number | null
  readonly memory_peak_mb: number | null
}

export interface MachineDays {
  readonly machine: string
  /** The one that answers. */
  readonly here: boolean
  readonly last_at: string
  readonly cores: number
  readonly memory_total_mb: number | null
  /** Oldest first, today last. */
  readonly days: readonly MachineDay[]
}

/** Load and memory of the machines that run the service, over days. */
export interface MachineHistory {
  /** Adds what was seen of this machine. */
  note(facts: Pick<HostFacts, 'cores' | 'load' | 'memory'>): Promise<void>
  /** Of the last `days` days, today included: this machine first, then those seen last. */
  read(days: number): Promise<readonly MachineDays[]>
}

const KEEP_DAYS = 90
/** Containers may take a new host name each time: the list is not to grow without end. */
const MOST_MACHINES = 20

interface DayRow {
  readonly machine: string
  readonly date: string
  readonly last_at: Date
  readonly hours: number
  readonly cores: number
  readonly load_mean: number
  readonly load_peak: number
  readonly memory_mean: number | null
  readonly memory_peak: number
  readonly memory_total: number
}

const hundredths = (value: number): number => Math.round(value * 100) / 100

function shownDay(date: string, row: DayRow | undefined): MachineDay {
  const isKnown = row !== undefined && row.memory_mean !== null
  return {
    date,
    hours: row?.hours ?? 0,
    load_mean: row === undefined ? null : hundredths(row.load_mean),
    load_peak: row === undefined ? null : hundredths(row.load_peak),
    memory_mean_mb: isKnown ? Math.round(row.memory_mean) : null,
    memory_peak_mb: isKnown ? Math.round(row.memory_peak) : null,
  }
}

/** Keeps samples by the hour, for 90 days. @param machine  the name of this one */
export function createMachineHistory({
  db,
  clock,
  machine,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly machine: string
}): MachineHistory {
  let cleaned = ''

  return {
    note: async ({ cores, load, memory }) => {
      const now = clock.now()
      const used = memory === null ? 0 : memory.total_mb - memory.available_mb
      await db.query(
        `insert into machine_sample as s (machine, at, last_at, cores, samples, load_sum, load_most,
          memory_samples, memory_used_sum_mb, memory_used_most_mb, memory_total_mb)
        values ($1, date_trunc('hour', $2::timestamptz, 'UTC'), $2, $3, 1, $4::float8, $4::float8, $5, $6::int, $6::int, $7)
        on conflict (machine, at) do update set last_at = excluded.last_at, cores = excluded.cores,
          samples = s.samples + 1, load_sum = s.load_sum + excluded.load_sum,
          load_most = greatest(s.load_most, excluded.load_most),
          memory_samples = s.memory_samples + excluded.memory_samples,
          memory_used_sum_mb = s.memory_used_sum_mb + excluded.memory_used_sum_mb,
          memory_used_most_mb = greatest(s.memory_used_most_mb, excluded.memory_used_most_mb),
          memory_total_mb = greatest(s.memory_total_mb, excluded.memory_total_mb)`,
        [machine, now, cores, load.one, memory === null ? 0 : 1, used, memory?.total_mb ?? 0],
      )
      const day = dayOf(now)
      if (cleaned === day) return
      await db.query('delete from machine_sample where at < $1', [new Date(now.getTime() - KEEP_DAYS * DAY_MS)])
      cleaned = day
    },
    read: async length => {
      const dates = lastDays(clock.now(), length)
      const rows = await db.query<DayRow>(
        `select machine, to_char(at at time zone 'UTC', 'YYYY-MM-DD') as date, max(last_at) as last_at,
          count(*)::int as hours, (array_agg(cores order by at desc))[1] as cores,
          sum(load_sum) / sum(samples) as load_mean, max(load_most) as load_peak,
          (sum(memory_used_sum_mb) / nullif(sum(memory_samples), 0))::float8 as memory_mean,
          max(memory_used_most_mb) as memory_peak, max(memory_total_mb) as memory_total
        from machine_sample where at >= $1::date::timestamp at time zone 'UTC' and machine in (
          select machine from machine_sample group by machine order by machine = $2 desc, max(last_at) desc limit $3)
        group by 1, 2 order by 2`,
        [dates[0], machine, MOST_MACHINES],
      )
      const all = [...Map.groupBy(rows, row => row.machine)].flatMap(([name, own]): MachineDays[] => {
        const last = own.at(-1)
        if (last === undefined) return []
        return [
          {
            machine: name,
            here: name === machine,
            last_at: last.last_at.toISOString(),
            cores: last.cores,
            memory_total_mb: last.memory_total === 0 ? null : last.memory_total,
            days: dates.map(date =>
              shownDay(
                date,
                own.find(row => row.date === date),
              ),
            ),
          },
        ]
      })
      return all.toSorted((a, b) => Number(b.here) - Number(a.here) || b.last_at.localeCompare(a.last_at))
    },
  }
}
