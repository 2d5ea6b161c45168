import { randomFill } from 'node:crypto'
import { open, rm, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Layout } from '../../files/layout.ts'
import { fsyncFolder } from '../../lib/atomic.ts'
import { space } from '../../lib/disk-space.ts'

const CHUNK = 4 * 1024 * 1024

/** A file that occupies room, to be given back when there is none left. A part of it is a smaller one. */
export interface Reserve {
  /** Bytes that it has; 0 where there is none. */
  size(): Promise<number>
  /** Removes it. @returns how many bytes it had */
  giveBack(): Promise<number>
  /**
   * Makes it this large, where `least` bytes stay free beside it; otherwise it stays as it is.
   * @returns whether it is as large as wanted
   */
  make(wantedBytes: number, least: number, signal: AbortSignal): Promise<boolean>
}

/** Keeps the file `.reserve` below REPOS_ROOT. */
export function createReserve(layout: Pick<Layout, 'root' | 'reserve'>): Reserve {
  const path = layout.reserve
  const size = async (): Promise<number> => {
    try {
      return (await stat(path)).size
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
      throw error
    }
  }

  /** Adds bytes that no file system can compress or leave out: what is there can be given back. */
  async function grow(from: number, to: number, signal: AbortSignal): Promise<void> {
    const handle = await open(path, from === 0 ? 'wx' : 'r+', 0o600)
    const chunk = Buffer.allocUnsafeSlow(CHUNK)
    try {
      for (let at = from; at < to; at += CHUNK) {
        signal.throwIfAborted()
        await promisify(randomFill)(chunk)
        await handle.write(chunk, 0, Math.min(CHUNK, to - at), at)
      }
      await handle.sync()
    } catch (error) {
      // the room was taken meanwhile: none of it may be kept from who needs it
      await handle.truncate(from).catch(() => undefined)
      throw error
    } finally {
      await handle.close()
    }
    await fsyncFolder(layout.root)
  }

  return {
    size,
    giveBack: async () => {
      const bytes = await size()
      await rm(path, { force: true })
      return bytes
    },
    make: async (wanted, least, signal) => {
      const has = await size()
      if (has === wanted) return true
      if (wanted === 0) {
        await rm(path, { force: true })
        return true
      }
      if (has > wanted) {
        const handle = await open(path, 'r+')
        await handle.truncate(wanted).finally(() => handle.close())
        return true
      }
      const { freeBytes } = await space(layout.root)
      if (freeBytes - (wanted - has) < least) return false
      await grow(has, wanted, signal)
      return true
    },
  }
}
