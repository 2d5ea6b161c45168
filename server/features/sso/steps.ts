import { createHash, randomBytes } from 'node:crypto'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretBox } from '../../lib/secret-box.ts'

/**
 * The two steps of a login that are remembered: `trip` until the browser is back, `arrival` until the console fetches
 * the session.
 */
export type StepKind = 'trip' | 'arrival'

/** Memory between the requests of one login: an entry works once, for a time, in one browser. */
export interface Steps {
  keep(
    kind: StepKind,
    step: { readonly token: string; readonly browser: string; readonly value: unknown; readonly seconds: number },
  ): Promise<void>
  /** Takes the entry out. @returns undefined when it is unknown, used, expired, or of another browser */
  take(kind: StepKind, token: string, browser: string): Promise<unknown>
}

/** 256 random bits, fit for URLs and cookies. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url')
}

const hash = (kind: string, text: string): string => createHash('sha256').update(`${kind}\0${text}`).digest('hex')

/** In the table `sso_step`: tokens as hashes, values encrypted. */
export function createSteps({
  db,
  box,
  clock,
}: {
  readonly db: Db
  readonly box: SecretBox
  readonly clock: Clock
}): Steps {
  return {
    keep: async (kind, { token, browser, value, seconds }) => {
      const now = clock.now()
      await db.query('delete from sso_step where until <= $1', [now])
      await db.query('insert into sso_step (token, browser, sealed, until) values ($1, $2, $3, $4)', [
        hash(kind, token),
        hash('browser', browser),
        box.seal(JSON.stringify(value)),
        new Date(now.getTime() + seconds * 1000),
      ])
    },
    take: async (kind, token, browser) => {
      const row = await db.first<{ browser: string; sealed: string; until: Date }>(
        'delete from sso_step where token = $1 returning browser, sealed, until',
        [hash(kind, token)],
      )
      // hashes of random values: comparing them in any way reveals nothing
      if (row === undefined || row.until <= clock.now() || row.browser !== hash('browser', browser)) return undefined
      return JSON.parse(box.open(row.sealed).toString('utf8')) as unknown
    },
  }
}
