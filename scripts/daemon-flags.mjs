/**
 * How the daemon's Node is started. On a machine with much memory V8 lets the young generation grow to 128 MB, which
 * many small requests beside one large upload fill with garbage; 8 MB a half keeps the whole daemon below 300 MB.
 */
export const DAEMON_FLAGS = ['--max-semi-space-size=8']

/**
 * glibc gives each thread a heap of its own, and what an upload leaves in them is not given back; two serve as well.
 */
export const DAEMON_ENV = { MALLOC_ARENA_MAX: '2' }
