import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Layout } from '../../files/layout.ts'
import { runTool } from '../../lib/exec.ts'
import { listSignatures, type SignatureFile } from '../../scanners/clamav-signatures.ts'
import { askClamd, type ClamdAddress } from '../../scanners/clamd-socket.ts'
import type { Settings } from '../../settings/store.ts'
import { createFreshclam, type Updated } from './freshclam.ts'

/** The antivirus engine's signatures: those on disk, and how to update them. */
export interface Signatures {
  files(): Promise<readonly SignatureFile[]>
  /** @throws signatures_not_updated, engine_unavailable */
  update(): Promise<Updated>
  /** Takes the files of a folder, and has the engine read them. @throws signatures_not_updated, engine_unavailable */
  load(folder: string): Promise<Updated>
  /** Until when the mirror takes no more requests, ISO 8601; as its last answer to `update` said. */
  coolDown(now: Date): string | undefined
  /** Has the engine read the files again while it keeps using the old ones. */
  reload(): Promise<'started' | 'failed' | 'not_configured'>
}

export interface SignatureNeeds {
  readonly layout: Pick<Layout, 'security'>
  readonly settings: Pick<Settings, 'now'>
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

/** The signatures on this machine's disk. */
export function createSignatures({ layout, settings, clamd }: SignatureNeeds): Signatures {
  const running = {
    exec: runTool,
    folder: join(layout.security, 'clamav'),
    owner: userInfo().username,
    program: findFreshclam,
  }
  const update = createFreshclam(running)
  async function reload(): ReturnType<Signatures['reload']> {
    if (clamd === undefined) return 'not_configured'
    // with ConcurrentDatabaseReload, its default, scans go on with the old signatures meanwhile
    return askClamd(clamd, 'RELOAD', RELOAD).then(
      answer => (answer === 'RELOADING' ? 'started' : 'failed'),
      () => 'failed',
    )
  }
  return {
    files: () => listSignatures(settings.now().clamav.database_folder),
    update: () => update.run(settings.now().clamav),
    coolDown: update.coolDown,
    load: async folder => {
      // apart from `update`, whose callers share one run
      const updated = await createFreshclam(running).run({ ...settings.now().clamav, bundle_folder: folder })
      await reload()
      return updated
    },
    reload,
  }
}
