import { isRefusal } from '../../core/errors.ts'
import { machineFaultOf } from '../../lib/machine-faults.ts'

/** Whether something failed because the disk has no room: the next file would fail in the same way. */
export const isNoRoom = (error: unknown): boolean =>
  isRefusal(error, 'storage_full') || isRefusal(error, 'uploads_stopped') || machineFaultOf(error) === 'disk_full'

/** What a job says where it ends because of that. */
export const sayNoRoom = (left: number, remedy: string): string =>
  `There is no room on the disk for more: ${left} of the packages did not come in, and no half of one stays. What came before stays. ${remedy} Then ask for them again.`
