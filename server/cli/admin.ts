import { randomBytes } from 'node:crypto'
import { createDb } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { createOutbox } from '../db/outbox.ts'
import { findRunning } from '../db/pid-file.ts'
import { DATABASE } from '../db/embedded.ts'
import { EnvProblems, readEnv, type Env } from '../env.ts'
import { createRescue, type Rescue } from '../features/auth/accounts/rescue.ts'
import { createLayout } from '../files/layout.ts'
import { systemClock } from '../lib/clock.ts'
import { createAudit } from '../record/audit.ts'

const USAGE = `npm run admin -- list [--json]
npm run admin -- password USER
npm run admin -- mfa USER

For admins who cannot get in, while the service or its database runs: lists them, sets a new random password, which is
printed once and ends every session, or removes a second factor. Each is in the audit log.
`
const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function addressOf(env: Env, folder: string) {
  if (env.databaseUrl !== undefined) return { url: env.databaseUrl }
  const running = await findRunning(folder)
  if (running === undefined || running.socket === '')
    throw new Error(
      `No database runs for REPOS_ROOT=${env.reposRoot}. Start the service, or set DATABASE_URL as it has it.`,
    )
  return { socket: running.socket, database: DATABASE }
}

async function work(rescue: Rescue, what: string, name: string | undefined): Promise<void> {
  if (what === 'list') {
    const admins = (await rescue.list()).map(({ username, origin, active, locked_until, mfa_enabled }) => {
      const is_locked = locked_until !== null && locked_until > systemClock.now()
      return { username, origin, active, is_locked, mfa_enabled }
    })
    if (name === '--json') say(JSON.stringify(admins))
    else
      for (const { username, origin, active, is_locked, mfa_enabled } of admins) {
        const words = [
          origin,
          ...(active ? [] : ['deactivated']),
          ...(is_locked ? ['locked'] : []),
          ...(mfa_enabled ? ['second factor'] : []),
        ]
        say(`${username}: ${words.join(', ')}`)
      }
  } else if (name === undefined) throw new Error(USAGE)
  else if (what === 'password') say(await rescue.resetPassword(name))
  else if (what === 'mfa') {
    await rescue.resetMfa(name)
    say(`${name} signs in with the password alone now.`)
  } else throw new Error(USAGE)
}

async function main([what = '', name, ...more]: readonly string[]): Promise<void> {
  if (what === '' || more.length > 0) throw new Error(USAGE)
  const env = readEnv(process.env, process.cwd())
  const layout = createLayout(env.reposRoot, () => '')
  const db = createDb(await addressOf(env, layout.database))
  try {
    await migrate(db)
    // what is owed is delivered by the service, now or when it starts
    const outbox = createOutbox({ db, onError: () => undefined })
    const audit = createAudit({ db, layout, clock: systemClock, outbox })
    await work(createRescue({ db, audit, random: randomBytes }), what, name)
  } finally {
    await db.close()
  }
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(
    `${error instanceof EnvProblems ? error.problems.join('\n') : error instanceof Error ? error.message.trim() : String(error)}\n`,
  )
  process.exitCode = 1
}
