import { afterAll, beforeAll, beforeEach } from 'vitest'
import { startAccounts, type TestAccounts } from './accounts.ts'
import { freshAddress } from './app.ts'

/**
 * The routes of accounts over accounts of their own. Before each test there is only `root`, an admin.
 * @param signedIn  takes the access token of `root`
 */
export function accountRoutes({
  started,
  signedIn,
}: {
  readonly started: (made: TestAccounts) => void
  readonly signedIn: (token: string) => void
}) {
  let it: TestAccounts
  beforeAll(async () => {
    it = await startAccounts()
    started(it)
  })
  afterAll(() => it.close())
  beforeEach(async () => {
    await it.stock.clear()
    await it.stock.db.query('truncate api_token')
    it.stock.clock.set('2026-03-01T10:00:00Z')
    await it.user('root', 'admin')
    signedIn(await it.session('root'))
  })
  const ask = (method: string, path: string, token?: string, body?: Record<string, unknown>) =>
    it.app.ask(method, `/api/v1${path}`, { token, headers: freshAddress(), ...(body === undefined ? {} : { body }) })
  /** The status of the profile that a token reads. */
  const me = async (token: string): Promise<number> => (await ask('GET', '/auth/me', token)).status
  return { ask, me }
}
