import { lstat } from 'node:fs/promises'
import { listFiles } from '../../server/lib/list-files.ts'
import { median, show, timed, type Figure } from './tools.ts'

/** How many are added one by one; the median of them counts. */
export const ADDED = 5
const EARLIER = 50

/** What `npm run bench publish-deb -- 1000 10000 --earlier=3000` asks for. */
export interface Asked {
  readonly sizes: readonly number[]
  /** How many publications go before those of the second figure. */
  readonly earlier: number
}

export function readArgs(args: readonly string[], sizes: readonly number[] = [1_000, 10_000, 60_000]): Asked {
  const given = args.filter(arg => /^\d+$/.test(arg)).map(Number)
  const earlier = args.find(arg => arg.startsWith('--earlier='))?.slice('--earlier='.length)
  return { sizes: given.length > 0 ? given : sizes, earlier: Number(earlier ?? EARLIER) }
}

/** One package more, at first and after many publications within the hour, and the bytes that each of those left. */
export interface Added {
  readonly add: Figure
  readonly later: Figure
  readonly earlier: number
  readonly bytesEach: number
}

/** Bytes on the disk below a folder, files with several names once. */
async function bytesBelow(folder: string): Promise<number> {
  const seen = new Map<number, number>()
  for (const path of await listFiles(folder)) {
    const { ino, blocks } = await lstat(path)
    seen.set(ino, blocks * 512)
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0)
}

/**
 * Publishes one package more, over and over.
 * @param more.put  brings in the n-th further package
 * @param more.trees  the folder whose growth counts
 */
export async function addMany(
  {
    put,
    publish,
    trees,
  }: {
    readonly put: (n: number) => Promise<void>
    readonly publish: () => Promise<unknown>
    readonly trees: string
  },
  earlier: number,
): Promise<Added> {
  let n = 0
  const some = async (): Promise<Figure> => {
    const figures: Figure[] = []
    for (let i = 0; i < ADDED; i++) {
      await put(n++)
      figures.push(await timed(publish))
    }
    return { wall: median(figures, 'wall'), cpu: median(figures, 'cpu') }
  }
  const add = await some()
  const before = await bytesBelow(trees)
  for (let i = 0; i < earlier; i++) {
    await put(n++)
    await publish()
  }
  const bytesEach = Math.round(((await bytesBelow(trees)) - before) / Math.max(1, earlier))
  return { add, later: await some(), earlier, bytesEach }
}

export const showAdded = ({ add, later, earlier, bytesEach }: Added): string =>
  `one more ${show(add)} (median of ${ADDED}), after ${earlier} more publications ${show(later)}, each of which left ${(bytesEach / 1024).toFixed(0)} KiB`

/** The CPU that one package more may take on two quiet cores, in seconds. */
const mostCpu = (size: number): number => (size <= 1_000 ? 0.06 : size <= 10_000 ? 0.08 : 0.2)
/** How many times that a peer's tool must take. */
const leastRatio = (size: number): number => (size < 10_000 ? 4 : 38)
/** What the measurement itself varies by. */
const NOISE = 0.02

/** Whether one package more keeps its budgets, beside the tools that were measured. */
export const isWithin = (size: number, { add, later }: Added, tools: readonly Figure[]): boolean =>
  add.cpu <= mostCpu(size) &&
  later.cpu <= Math.max(mostCpu(size), add.cpu + NOISE) &&
  tools.every(tool => tool.cpu / add.cpu >= leastRatio(size))
