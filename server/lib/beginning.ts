import type { Worker } from 'node:worker_threads'

/**
 * Resolves when a thread has sent its first message, or has ended. It is not stopped before: V8 may abort the whole
 * process when one ends while its program is loaded from TypeScript ("Check failed: jit_page.has_value()", twice in
 * some 2,800 starts that were stopped at random; Node 24.21; see https://github.com/nodejs/node/issues/64500).
 */
export function beginning(worker: Worker): Promise<void> {
  return new Promise(resolve => {
    for (const event of ['message', 'exit'] as const) worker.once(event, () => resolve())
  })
}
