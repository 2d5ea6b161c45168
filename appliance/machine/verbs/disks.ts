import { statfs } from 'node:fs/promises'
import type { DiskView, Mark } from '../../../server/machine/protocol.ts'
import { at, findText, type Ports } from '../ports.ts'

const WARNING_PERCENT = 80
const BAD_PERCENT = 95
const PLACES = [
  { name: 'packages', path: '/repos' },
  { name: 'system', path: '/' },
] as const

/** What of `/proc/self/mountinfo` holds this path: the last one whose point is the longest. */
export function deviceOf(mounts: string, path: string): string {
  let best = { length: 0, device: 'unknown' }
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const point = (before.split(' ')[4] ?? '').replaceAll('\\040', ' ')
    const holds = point === '/' || path === point || path.startsWith(`${point}/`)
    if (point !== '' && holds && point.length >= best.length)
      best = { length: point.length, device: after.split(' ')[1] ?? 'unknown' }
  }
  return best.device
}

/** Of a file system that is filled to this part of 100. */
export function markFilled(percent: number): { readonly mark: Mark; readonly said: string } {
  const full = Math.floor(percent)
  if (percent >= BAD_PERCENT)
    return { mark: 'bad', said: `${full} % full: make the disk larger and restart, or remove packages` }
  if (percent >= WARNING_PERCENT)
    return { mark: 'warning', said: `${full} % full: make room before it is at ${BAD_PERCENT} %` }
  return { mark: 'good', said: `${full} % full` }
}

export async function readDisks(ports: Ports): Promise<DiskView[]> {
  const mounts = (await findText(ports, '/proc/self/mountinfo')) ?? ''
  const views = PLACES.map(async ({ name, path }): Promise<DiskView> => {
    const device = deviceOf(mounts, path)
    try {
      const { bsize, blocks, bfree, bavail } = await statfs(at(ports, path))
      // as df counts: what only root may fill is neither used nor free
      const used = (blocks - bfree) * bsize
      const percent = (100 * (blocks - bfree)) / Math.max(1, blocks - bfree + bavail)
      return { name, path, device, size: blocks * bsize, used, ...markFilled(percent) }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      return { name, path, device, size: 0, used: 0, mark: 'unknown', said: `it cannot be looked at: ${why}` }
    }
  })
  return Promise.all(views)
}
