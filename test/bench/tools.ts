import { spawnSync } from 'node:child_process'

/** Seconds. */
export interface Figure {
  readonly wall: number
  readonly cpu: number
}

export const show = ({ wall, cpu }: Figure): string => `${wall.toFixed(3)} s wall, ${cpu.toFixed(3)} s CPU`

export function median(figures: readonly Figure[], key: keyof Figure): number {
  return figures.map(figure => figure[key]).sort((a, b) => a - b)[figures.length >> 1] ?? 0
}

/** What work in this process costs, its threads included. */
export async function timed(work: () => Promise<unknown>): Promise<Figure> {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 }
}

/** What a vendor's tool costs: the children's own times, from the shell that waited for them. @throws when it fails */
export function timedTool(script: string, cwd: string): Figure {
  const start = performance.now()
  const done = spawnSync('bash', ['-c', `${script} >/dev/null 2>&1 || exit 9; times`], { cwd, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`${script} failed`)
  const [, children = ''] = done.stdout.trim().split('\n').slice(-2)
  const cpu = [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  )
  return { wall: (performance.now() - start) / 1000, cpu }
}

export const isInstalled = (...tools: readonly string[]): boolean =>
  tools.every(tool => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0)
