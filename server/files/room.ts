import { fail } from '../core/errors.ts'
import { levelOf, MAKE_ROOM, type DiskLimits } from '../core/disk.ts'
import { space } from '../lib/disk-space.ts'
import type { Layout } from './layout.ts'

/** Whether there is room to take something in. */
export interface Room {
  /** One look at the disk. @throws uploads_stopped below `disk.min_free_disk_gb` */
  need(): Promise<void>
}

/** Asks the disk below REPOS_ROOT. What cannot be asked is not refused here: writing to it says why. */
export function createRoom(layout: Pick<Layout, 'root'>, limits: () => DiskLimits): Room {
  return {
    need: async () => {
      const disk = await space(layout.root).catch(() => undefined)
      const { min_free_disk_gb: leastGb, ...others } = limits()
      if (disk === undefined || levelOf(disk, { min_free_disk_gb: leastGb, ...others }) !== 'stopped') return
      fail('uploads_stopped', { free_gb: disk.free_gb, least_gb: leastGb, remedy: MAKE_ROOM })
    },
  }
}
