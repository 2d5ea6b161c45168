import { allows, type Principal } from '../../core/access.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import { within } from './probes.ts'

export interface PublicViewerDeps {
  /** @throws an AppError of 401 */
  readonly authenticate: (authorization: string | undefined) => Promise<Principal>
  /** Codenames hidden from an account, or from callers who are not signed in. */
  readonly hiddenFrom: (who: Principal | undefined) => Promise<readonly string[]>
  readonly repositories: Pick<Repositories, 'all'>
}

/** Who reads a report. */
export interface Reader extends Viewer {
  /** Whether facts of the machine are shown: to auditors, maintainers and admins. */
  readonly seesMachine?: boolean
}

const PATIENCE_MS = 1_000

/**
 * The viewer of metrics that anybody may read: sees what everybody sees.
 * @throws Error while the rules cannot be read
 */
export function createOpenViewer({ hiddenFrom }: Pick<PublicViewerDeps, 'hiddenFrom'>): () => Promise<Viewer> {
  return async () => {
    const seen = await within(PATIENCE_MS, async () => ({ ok: true, hidden: await hiddenFrom(undefined) }))
    if (!('hidden' in seen)) throw new Error('who may see what is not known')
    return { hidden: seen.hidden }
  }
}

/**
 * The viewer of a public report: the account of the credential, otherwise one who sees only unrestricted distributions.
 * The rules stand in the database: while it does not answer, everything is hidden.
 */
export function createPublicViewer({
  authenticate,
  hiddenFrom,
  repositories,
}: PublicViewerDeps): (authorization: string | undefined) => Promise<Reader> {
  const identify = async (header: string): Promise<Principal | undefined> =>
    // an invalid or unsuitable credential counts as none
    authenticate(header).catch(() => undefined)
  return async authorization => {
    const seen = await within(PATIENCE_MS, async () => {
      const who = authorization === undefined ? undefined : await identify(authorization)
      const hidden = await hiddenFrom(who)
      return { ok: true, viewer: allows('auditor+', who?.role) ? { hidden, seesMachine: true } : { hidden } }
    })
    return 'viewer' in seen ? seen.viewer : { hidden: repositories.all().map(one => one.codename) }
  }
}
