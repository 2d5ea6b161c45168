import { existsSync } from 'node:fs'
import { DEFAULT_DISTRIBUTIONS } from '../core/default-distributions.ts'
import { createRepositories } from '../core/repository.ts'
import { createDb, type DatabaseAddress } from '../db/db.ts'
import { DATABASE, startEmbedded } from '../db/embedded.ts'
import { migrate } from '../db/migrate.ts'
import { findRunning } from '../db/pid-file.ts'
import { EnvProblems, readEnv, type Env } from '../env.ts'
import { createLayout, type Layout } from '../files/layout.ts'
import { createDefinitions } from '../files/definitions.ts'
import { createManifests } from '../files/manifests.ts'
import { lockRoot } from '../files/root-lock.ts'
import { keepSecret } from '../files/secrets.ts'
import { FORMATS, getFormat } from '../formats/index.ts'
import { treeFolders } from '../formats/tree-folders.ts'
import { systemClock } from '../lib/clock.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { verifyAll, type VerifiedAll } from '../publish/verify-all.ts'
import { createKeyring } from '../signing/keyring.ts'

interface Opened {
  readonly address: DatabaseAddress
  close(): Promise<void>
}

/** The database of the running daemon, or its own one started for the moment. */
async function openDatabase(env: Env, layout: Layout): Promise<Opened> {
  if (env.databaseUrl !== undefined) return { address: { url: env.databaseUrl }, close: async () => undefined }
  const running = await findRunning(layout.database)
  if (running !== undefined && running.socket !== '')
    return { address: { socket: running.socket, database: DATABASE }, close: async () => undefined }
  // a daemon that runs now, with a database elsewhere or not yet there: an empty one would be made in its place
  const unlock = await lockRoot(
    layout.root,
    'Set DATABASE_URL as the service there has it, or try again in a moment if it is just starting.',
  )
  try {
    const embedded = await startEmbedded({ folder: layout.database })
    return { address: embedded, close: () => embedded.stop().finally(unlock) }
  } catch (error) {
    await unlock()
    throw error
  }
}

async function verify(): Promise<VerifiedAll> {
  const env = readEnv(process.env, process.cwd())
  const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
  const layout = createLayout(env.reposRoot, treeFolders({ repositories, formats: FORMATS }))
  // a mistyped folder must not be made, found empty and called good
  if (![layout.pool, layout.manifests, layout.incoming].some(folder => existsSync(folder))) {
    throw new Error(
      `There is no Gatehouse in REPOS_ROOT=${layout.root}. Set REPOS_ROOT to the folder the service runs on.`,
    )
  }
  const { address, close } = await openDatabase(env, layout)
  const db = createDb(address)
  try {
    await migrate(db)
    repositories.replace(await createDefinitions(db, layout).load())
    const box = createSecretBox(env.settingsKey ?? (await keepSecret(layout, 'settings')))
    const keyring = createKeyring({ layout, box, clock: systemClock })
    return await verifyAll({
      db,
      layout,
      manifests: createManifests(layout),
      keyring,
      formats: getFormat,
      repositories,
    })
  } finally {
    await db.close()
    await close()
  }
}

try {
  const verified = await verify()
  const { checked, auditLines, differences, notes } = verified
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(verified)}\n`)
  else {
    for (const { what, where, why } of notes) process.stdout.write(`note: ${what}: ${where}: ${why}\n`)
    for (const { what, where, why } of differences) process.stdout.write(`${what}: ${where}: ${why}\n`)
    process.stdout.write(
      `verified: ${checked.packages} packages, ${checked.blobs} blobs, ${checked.manifests} manifests, ${checked.documents} documents, ${checked.trees} trees with ${checked.files} files, ${auditLines} audit lines, ${differences.length === 0 ? 'no difference' : `${differences.length} differences`}\n`,
    )
  }
  process.exitCode = differences.length === 0 ? 0 : 1
} catch (error) {
  process.stderr.write(
    `${error instanceof EnvProblems ? error.problems.join('\n') : error instanceof Error ? error.message : String(error)}\n`,
  )
  process.exitCode = 2
}
