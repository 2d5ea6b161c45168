import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Flags for the daemon's Node. On a machine with much memory V8 lets the young generation grow to 128 MB, which many
 * small requests beside one large upload fill with garbage: 8 MB per half are enough. And it lets the heap grow to four
 * times of what lives in it before it collects all of it: here to one and a half times.
 */
export const DAEMON_FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=50']

/**
 * glibc gives each thread its own heap and does not return what an upload leaves there; two heaps are enough, blocks
 * of 32 KiB and more stand outside of them and go back at once. The code is compiled once for all starts, which saves
 * each half of the time until it is loaded.
 */
export const DAEMON_ENV = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '65536',
  NODE_COMPILE_CACHE: join(dirname(dirname(fileURLToPath(import.meta.url))), '.cache', 'modules'),
}
