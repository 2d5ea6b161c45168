import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { carryOut, discardStaged } from '../backup/restore.ts'
import { endOtherSessions, schemaExists } from '../backup/restore-database.ts'
import { dropPlan, isRestoreBegun, isRestoreDecided, readOutcome, readPlan } from '../backup/restore-plan.ts'
import { connected } from '../db/connected.ts'
import { openClient, type DatabaseAddress } from '../db/db.ts'
import { isJoined } from '../files/joined-root.ts'
import type { Log } from '../lib/log.ts'

// any number that nothing else uses: of several processes one restores
const ADVISORY_LOCK = 7_201_843
const WATCH_MS = 1_000
const TURN_MS = 500
/** How long a process that does not stop is waited for. It loses its sessions then, and its leadership long before. */
const PATIENCE_MS = 60_000

/**
 * Tells when a restore was decided, by this process or another one on the same root, and when one was done while this
 * process stood still.
 */
export async function watchForRestore(root: string, onRestore: () => void): Promise<{ start(): void; stop(): void }> {
  const lastDone = async (): Promise<string | undefined> => (await readOutcome(root).catch(() => undefined))?.done_at
  const before = await lastDone()
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => clearInterval(timer)
  async function look(): Promise<void> {
    if (!isRestoreDecided(root) && (await lastDone()) === before) return
    if (timer === undefined) return
    stop()
    timer = undefined
    onRestore()
  }
  return {
    start: () => {
      timer = setInterval(() => void look(), WATCH_MS)
      timer.unref()
    },
    stop,
  }
}

async function takesTurn(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [ADVISORY_LOCK])
  return rows[0]?.mine === true
}

async function othersStopped(root: string, log: Log): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  while (await isJoined(root)) {
    if (performance.now() < until) await setTimeout(TURN_MS)
    else return log.warn('a replica did not stop for the restore: its sessions of the database are ended')
  }
}

/** @throws where the database has changed already: only going on helps then */
async function orGiveUp(root: string, client: Client, { error, log }: { error: unknown; log: Log }): Promise<void> {
  const plan = await readPlan(root)
  if (plan === undefined || plan.do === 'undo' || (await schemaExists(client, plan.away))) throw error
  log.error({ err: error, backup: plan.backup.name }, 'the backup could not be restored; everything is as it was')
  await dropPlan(root)
  await discardStaged(root, client)
}

/** @returns false where another process is at it */
async function endIt(
  root: string,
  client: Client,
  { alone, log }: { readonly alone: boolean; readonly log: Log },
): Promise<boolean> {
  try {
    if (!alone) {
      if (!(await takesTurn(client))) return false
      await othersStopped(root, log)
      await endOtherSessions(client)
    }
    const plan = await carryOut(root, client)
    if (plan === undefined) await discardStaged(root, client)
    else log.warn({ done: plan.do, by: plan.by }, 'the installation was restored')
  } catch (error) {
    await orGiveUp(root, client, { error, log })
  }
  return true
}

/**
 * Does a restore that was decided before anything reads files or tables, and removes one that a kill cut short before
 * it was decided.
 * @param alone  nobody else ever works on this root; otherwise the first of several processes restores, and the others
 *   wait for it
 * @throws where it cannot be ended
 */
export async function endRestore(
  root: string,
  address: DatabaseAddress,
  { alone, log }: { readonly alone: boolean; readonly log: Log },
): Promise<void> {
  while (isRestoreDecided(root) || (alone && isRestoreBegun(root))) {
    const hadTurn = await connected(
      () => openClient(address, { queryTimeoutMs: Infinity }),
      client => endIt(root, client, { alone, log }),
    )
    if (!hadTurn) await setTimeout(TURN_MS)
  }
}
