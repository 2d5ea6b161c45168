import { existsSync } from 'node:fs'
import { link, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../core/errors.ts'
import { fsyncFolder, writeAtomic } from '../lib/atomic.ts'
import type { Signed } from './archive-signature.ts'
import type { AuditFate } from './restore-audit.ts'

/**
 * A restore that is decided. From the moment in which `.restore/plan.json` is there, whoever starts on this root does
 * it to its end before anything else; without that file, what lies in `.restore/` was prepared and counts for nothing.
 */
export type Plan = RestorePlan | UndoPlan

interface Decided {
  readonly by: string
  /** ISO 8601. */
  readonly decided_at: string
  /** The schema of what is put aside, or taken back: `before_restore_20261123_043000`. */
  readonly away: string
}

export interface RestorePlan extends Decided {
  readonly do: 'restore'
  /** The schema into which the backup was loaded. */
  readonly fresh: string
  /** What was staged: where it is gone, it was put in its place. */
  readonly staged: readonly string[]
  /** Absent in a plan of an earlier release, which put the log aside. */
  readonly audit?: AuditFate
  readonly backup: RestoredBackup
}

export interface UndoPlan extends Decided {
  readonly do: 'undo'
  /** Whether the audit log was not put aside, and so goes on. */
  readonly keeps_audit?: boolean
}

/** What the backup says of itself, and what was found. Times are ISO 8601. */
export interface RestoredBackup {
  readonly name: string
  readonly created_at: string
  readonly packages: number
  readonly files: number
  /** Whether the secrets came with it. */
  readonly has_secrets: boolean
  readonly signed: Signed
  /** Packages whose file the backup does not have. */
  readonly without_file: number
  /** Of a stick its label and the path on it. */
  readonly from?: string
}

/** What was done last: `.restored.json`. */
export interface Outcome {
  readonly plan: Plan
  /** ISO 8601. A process that began before is of the installation that was. */
  readonly done_at: string
  /** Whether the trees and the audit log know it. */
  readonly followed: boolean
}

export const STAGING = '.restore'
const planFile = (root: string): string => join(root, STAGING, 'plan.json')
const outcomeFile = (root: string): string => join(root, '.restored.json')

/** Whether a restore is decided and not done. */
export const isRestoreDecided = (root: string): boolean => existsSync(planFile(root))
/** Whether a restore was begun: decided or not. */
export const isRestoreBegun = (root: string): boolean => existsSync(join(root, STAGING))

async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as T)
}

export const readPlan = (root: string): Promise<Plan | undefined> => readJson<Plan>(planFile(root))

/** @throws restore_under_way where another plan is there, which stays as it is */
export async function writePlan(root: string, plan: Plan): Promise<void> {
  const path = planFile(root)
  const beside = `${path}.${plan.do}`
  await writeAtomic(beside, JSON.stringify(plan), { mode: 0o600 })
  try {
    // a link, for a rename would replace the other one
    await link(beside, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') fail('restore_under_way', {}, error)
    throw error
  } finally {
    await rm(beside, { force: true })
  }
  await fsyncFolder(join(root, STAGING))
}

export const readOutcome = (root: string): Promise<Outcome | undefined> => readJson<Outcome>(outcomeFile(root))
export const writeOutcome = (root: string, outcome: Outcome): Promise<void> =>
  writeAtomic(outcomeFile(root), JSON.stringify(outcome), { mode: 0o600 })
/** What was prepared stays. */
export const dropPlan = (root: string): Promise<void> => rm(planFile(root), { force: true })
