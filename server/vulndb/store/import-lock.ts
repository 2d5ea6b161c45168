import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { processFacts } from '../../lib/process.ts'
import type { VulndbLayout } from './layout.ts'

/** Another import is running. */
export class ImportRunning extends Error {}

/** Identifies a process even after its number is reused; undefined when it has ended. */
async function processMark(pid: number): Promise<string | undefined> {
  const facts = await processFacts(pid)
  return facts === undefined || facts.defunct ? undefined : `${pid} ${facts.begun}`
}

/** Takes the only right to import. A lock of a dead process is free. @throws ImportRunning */
export async function takeLock(place: VulndbLayout): Promise<() => Promise<void>> {
  await mkdir(place.folder, { recursive: true })
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const handle = await open(place.lock, 'wx')
      await handle.writeFile((await processMark(process.pid)) ?? String(process.pid))
      await handle.close()
      return () => rm(place.lock, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const owner = await readFile(place.lock, 'utf8').catch(() => '')
      const pid = Number.parseInt(owner)
      // an earlier import of this process is over: they run one after the other
      if (pid > 0 && pid !== process.pid && (await processMark(pid)) === owner)
        throw new ImportRunning('another import is running')
      await rm(place.lock, { force: true })
    }
  }
  throw new ImportRunning('another import is running')
}
