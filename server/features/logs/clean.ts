import { rm, stat } from 'node:fs/promises'
import { ownSeries, type OwnLog } from '../../record/log-series.ts'

const LOGS: readonly OwnLog[] = ['gatehouse', 'trees']
/** A machine that has written nothing for so long is gone: containers get another name with every new one. */
const GONE_MS = 30 * 86_400_000

/** Removes the log files of machines that are gone. Files of those that write are bounded by their number. */
export async function removeOrphans(folder: string, now: Date): Promise<void> {
  for (const log of LOGS)
    for (const { files } of await ownSeries(folder, log)) {
      const written = await Promise.all(
        files.map(async file => (await stat(file).catch(() => undefined))?.mtimeMs ?? 0),
      )
      if (Math.max(...written) > now.getTime() - GONE_MS) continue
      for (const file of files) await rm(file, { force: true })
    }
}
