import { writeFileSync } from 'node:fs'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'

// Loaded into the daemon by `--import`: how long its main thread computes before others get their turn.

const LOOK_EVERY_MS = 2
const { GATEHOUSE_BENCH_PAUSES: file } = process.env

if (isMainThread && file !== undefined) {
  let [before, longest] = [process.threadCpuUsage(), 0]
  setInterval(() => {
    const now = process.threadCpuUsage()
    longest = Math.max(longest, now.user + now.system - before.user - before.system)
    before = now
  }, LOOK_EVERY_MS).unref()
  // milliseconds since the last time that somebody asked
  process.on('SIGUSR2', () => {
    writeFileSync(file, String(longest / 1000))
    longest = 0
  })
}
