import { readFile, rm } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { cpuOfFamily, memoryOfFamily, type Server } from '../server.ts'

/** A registry that is measured: where its clients go, and the processes behind it. */
export interface Place {
  /** As it stands in the table. */
  readonly called: string
  /** Without a slash at the end. */
  readonly base: string
  readonly server: Server
  readonly token?: string
}

/** What some work cost the server. */
export interface Cost {
  /** Seconds, as the client waited. */
  readonly wall: number
  /** Seconds of CPU of the server and of all that it started. */
  readonly cpu: number
  /** MB at most meanwhile, of the server and of all that it started. */
  readonly memory: number
}

const LOOK_EVERY_MS = 200

/** Runs the work and looks at the server meanwhile. */
export async function costOf({ server: { pid } }: Pick<Place, 'server'>, work: () => Promise<unknown>): Promise<Cost> {
  const [start, cpu] = [performance.now(), await cpuOfFamily(pid)]
  let [memory, isOver] = [0, false]
  const looking = (async () => {
    while (!isOver) {
      memory = Math.max(memory, await memoryOfFamily(pid))
      await setTimeout(LOOK_EVERY_MS)
    }
  })()
  try {
    await work()
    return { wall: (performance.now() - start) / 1000, cpu: (await cpuOfFamily(pid)) - cpu, memory }
  } finally {
    isOver = true
    await looking
  }
}

/** The one that took the least time. */
export const quickest = (all: readonly Cost[]): Cost =>
  all.reduce((one, other) => (other.wall < one.wall ? other : one))

export const print = ({ wall, cpu, memory }: Cost): string =>
  `${wall.toFixed(2)} s, ${cpu.toFixed(2)} s of CPU, ${Math.round(memory)} MB at most`

/**
 * The longest time in milliseconds that the daemon's main thread computed before others got their turn, since the last
 * call.
 * @param file  where `pauses.ts` writes it
 */
export async function longestPause({ pid }: Server, file: string): Promise<number> {
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => '')
    if (text !== '') return Number(text)
    await setTimeout(20)
  }
}

/** Of each place in turns, so that what else the machine does is shared. */
export async function inTurns<T>(
  places: readonly Place[],
  rounds: number,
  work: (place: Place) => Promise<T>,
): Promise<ReadonlyMap<Place, readonly T[]>> {
  const all = new Map<Place, T[]>(places.map(place => [place, []]))
  for (let round = 0; round < rounds; round++) for (const place of places) all.get(place)?.push(await work(place))
  return all
}
