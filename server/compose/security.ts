import { createSeenDb } from '../db/seen.ts'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Catalog } from '../catalog/catalog.ts'
import type { StepName } from '../core/report.ts'
import type { Env } from '../env.ts'
import { createDecisions } from '../review/decisions.ts'
import type { SecurityDeps, Signatures } from '../features/security/deps.ts'
import { createFreshclam } from '../features/security/freshclam.ts'
import { createRematch, type Rematch } from '../review/rematch.ts'
import { reopenExpired } from '../review/reopen.ts'
import { createRescans, type Rescans } from '../review/rescan.ts'
import { createSlaWatch } from '../review/deadlines.ts'
import { getFormat } from '../formats/index.ts'
import { createDependencyScan } from '../review/dependency-scan.ts'
import type { Job } from '../jobs/scheduler.ts'
import { runTool } from '../lib/exec.ts'
import type { Log } from '../lib/log.ts'
import type { Notices } from '../outbound/notices.ts'
import type { Step } from '../pipeline/subject.ts'
import { askClamd } from '../scanners/clamd-socket.ts'
import { listSignatures } from '../scanners/clamav-signatures.ts'
import type { Scanners } from '../scanners/index.ts'
import type { AntivirusScanner } from '../scanners/scanner.ts'
import { CANDIDATE_LINES } from '../sbom/lockfiles.ts'
import type { Foundation } from './foundation.ts'
import type { Sbom } from './sbom.ts'

/** The review side of the gate. */
export interface Security {
  readonly deps: SecurityDeps
  readonly jobs: readonly Job[]
  /** `rematch.soon()` is for engines whose data has changed. */
  readonly rematch: Rematch
  /** For mechanisms with findings of their own: the dependencies inside a package. */
  readonly rescans: Rescans
}

const FRESHCLAM = ['/usr/bin/freshclam', '/usr/local/bin/freshclam']
const RELOAD = { connectMs: 5_000, idleMs: 30_000 }

async function findFreshclam(): Promise<string | undefined> {
  for (const path of FRESHCLAM) {
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}

function composeSignatures(env: Env, { layout, settings }: Foundation): Signatures {
  const update = createFreshclam({
    exec: runTool,
    folder: join(layout.security, 'clamav'),
    owner: userInfo().username,
    program: findFreshclam,
  })
  return {
    files: () => listSignatures(settings.now().clamav.database_folder),
    update: () => update(settings.now().clamav),
    reload: async () => {
      if (env.clamd === undefined) return 'not_configured'
      // with ConcurrentDatabaseReload, its default, scans go on with the old signatures meanwhile
      return askClamd(env.clamd, 'RELOAD', RELOAD).then(
        answer => (answer === 'RELOADING' ? 'started' : 'failed'),
        () => 'failed',
      )
    },
  }
}

export interface SecurityParts {
  readonly catalog: Catalog
  readonly scanners: Scanners
  /** The gate's own, so that a later look is the same look. */
  readonly steps: readonly Step[]
  readonly antivirus: AntivirusScanner
  readonly sbom: Sbom
  readonly notices: Notices
  readonly log: Log
}

function stepOf(steps: readonly Step[], name: StepName): Step {
  const step = steps.find(one => one.name === name)
  if (step === undefined) throw new Error(`there is no step ${name} in this build`)
  return step
}

/** Builds the review side over the catalogue and the gate's steps. */
export function composeSecurity(
  env: Env,
  base: Foundation,
  { catalog, scanners, steps: all, antivirus, sbom, notices, log }: SecurityParts,
): Security {
  const { db, pool, settings, audit, outbox, clock, metrics } = base
  const steps = { vulnerabilities: stepOf(all, 'vulnerabilities'), antivirus: stepOf(all, 'antivirus') }
  const rescans = createRescans({
    catalog,
    pool,
    formats: getFormat,
    steps,
    settings,
    metrics,
    clock,
    carried: sbom.carried,
  })
  const dependencies = createDependencyScan({
    db,
    log,
    candidates: CANDIDATE_LINES,
    look: known => rescans.rematch(known, new AbortController().signal, 'dependency scan'),
  })
  const sla = createSlaWatch({ db, outbox, notices, settings, clock })
  const rematch = createRematch({ db, rescans, clock, log, isOn: () => settings.now().review.rematch_enabled })
  const daily = (hour: number, minute: number): string => `${minute} ${hour} * * *`
  return {
    rematch,
    rescans,
    deps: {
      // what reviewers ask, they may see
      db: createSeenDb(db),
      catalog,
      settings,
      audit,
      clock,
      antivirus,
      rescans,
      sla,
      signatures: composeSignatures(env, base),
      decisions: createDecisions({ db: createSeenDb(db), catalog, settings }),
      engines: () => Promise.all([...scanners.antivirus, ...scanners.vulnerability].map(scanner => scanner.status())),
    },
    jobs: [
      {
        id: 'sla',
        name: 'Tell of deadlines that were missed',
        when: () => daily(settings.now().review.sla_hour, settings.now().review.sla_minute),
        run: async () => {
          await sla.check()
        },
      },
      {
        id: 'dependencies',
        name: 'Look up the libraries inside new packages',
        when: () => (settings.now().validation.grype_scan ? '* * * * *' : undefined),
        run: async () => {
          await dependencies.run()
        },
      },
      {
        id: 'reopen',
        name: 'Reopen what was accepted until now',
        when: () => '*/5 * * * *',
        run: async () => {
          await reopenExpired({ db, catalog, settings, clock })
        },
      },
      {
        id: 'rematch',
        name: 'Look packages up again with new vulnerability data',
        run: async () => {
          await rematch.run()
        },
        when: () =>
          settings.now().review.rematch_enabled
            ? daily(settings.now().review.rematch_hour, settings.now().review.rematch_minute)
            : undefined,
      },
    ],
  }
}
