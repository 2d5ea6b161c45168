import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { run } from './compose/run.ts'
import { EnvProblems, readEnv, type Env } from './env.ts'
import { armFailpoint } from './lib/failpoint.ts'
import { giveBackMemoryWhenIdle } from './lib/idle-memory.ts'
import { createSupervisor, systemdNotify, watchdogMs } from './lib/supervisor.ts'

/** One line for a person per problem: what is wrong and what to do, never a stack. */
function stopWith(error: unknown): never {
  const problems =
    error instanceof EnvProblems ? error.problems : [error instanceof Error ? error.message : String(error)]
  for (const problem of problems) process.stderr.write(`Gatehouse does not start: ${problem}\n`)
  process.exit(1)
}

function readConfiguration(): Env {
  try {
    return readEnv(process.env, process.cwd())
  } catch (error) {
    stopWith(error)
  }
}

// a small buffer that is kept keeps the whole piece that Node took it from, which has 64 KB by default
Buffer.poolSize = 8 * 1024

const env = readConfiguration()
armFailpoint(process.env.GATEHOUSE_FAILPOINT)
for (const warning of env.warnings) process.stderr.write(`${warning}\n`)

const uiFolder = join(import.meta.dirname, '..', 'ui', 'dist')
const service = await run(env, { uiFolder }, stopWith).catch(stopWith)
const { url, needsSetup } = service
const supervisor = createSupervisor({
  say: systemdNotify(process.env.NOTIFY_SOCKET, process.env.PATH),
  watchdogMs: watchdogMs(process.env.WATCHDOG_USEC),
  ask: () => fetch(`${url}/health/live`, { signal: AbortSignal.timeout(20_000) }),
  warn: text => process.stderr.write(`${text}\n`),
})

let stopping = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping) return
    stopping = true
    void supervisor.stopping()
    service.stop().then(() => process.exit(0), stopWith)
  })
}
// whoever reads this may end the service at once, in order
process.stdout.write(`Gatehouse is ready at ${url}${needsSetup ? ` - create the first admin at ${url}/#/setup` : ''}\n`)

await supervisor.ready()

giveBackMemoryWhenIdle()
flushCompileCache() // now, not at the end: a service may be killed
