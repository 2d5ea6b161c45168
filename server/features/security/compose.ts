import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import { createSeenDb } from '../../db/seen.ts'
import type { Layout } from '../../files/layout.ts'
import { runTool } from '../../lib/exec.ts'
import { askClamd, type ClamdAddress } from '../../scanners/clamd-socket.ts'
import { listSignatures } from '../../scanners/clamav-signatures.ts'
import type { Scanners } from '../../scanners/index.ts'
import type { Settings } from '../../settings/store.ts'
import { security } from './contract.ts'
import type { SecurityDeps, Signatures } from './deps.ts'
import { createFreshclam } from './freshclam.ts'
import { securityHandlers } from './handlers.ts'

export interface SecurityNeeds extends Omit<SecurityDeps, 'db' | 'signatures' | 'engines' | 'settings'> {
  readonly db: Db
  readonly settings: Settings
  readonly layout: Layout
  readonly scanners: Scanners
  /** CLAMD_SOCKET or CLAMD_HOST. */
  readonly clamd: ClamdAddress | undefined
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

function signaturesOf({ layout, settings, clamd }: SecurityNeeds): Signatures {
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
      if (clamd === undefined) return 'not_configured'
      // with ConcurrentDatabaseReload, its default, scans go on with the old signatures meanwhile
      return askClamd(clamd, 'RELOAD', RELOAD).then(
        answer => (answer === 'RELOADING' ? 'started' : 'failed'),
        () => 'failed',
      )
    },
  }
}

/** The review queue, decisions, policy and what is known of vulnerabilities. */
export function composeSecurity(needs: SecurityNeeds): Feature {
  const { db, scanners } = needs
  const engines = () => Promise.all([...scanners.antivirus, ...scanners.vulnerability].map(engine => engine.status()))
  return {
    // what reviewers ask, they may see
    routes: bind(security, securityHandlers, {
      ...needs,
      db: createSeenDb(db),
      signatures: signaturesOf(needs),
      engines,
    }),
  }
}
