import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { createRedis, type TestRedis } from '../support/redis.ts'
import { lacking } from '../support/tools.ts'

const missing = lacking('redis-server')

interface Info {
  readonly cache_backend: { readonly ok: boolean; readonly backend: string; readonly error?: string }
  readonly ha: { readonly job_state_backend: Record<string, string> }
}
interface Report {
  readonly checks: { readonly info: Info }
}

let redis: TestRedis
let it: Daemon
let admin: string

const backend = async () => (await it.call<Report>('GET', '/health')).body.checks.info.cache_backend
const isSaid = (ok: boolean): Promise<void> =>
  vi.waitFor(
    async () => {
      expect((await backend()).ok).toBe(ok)
    },
    { timeout: 20_000, interval: 50 },
  )
const login = async (body: object = ADMIN, ip?: string) =>
  it.call<{ access_token: string }>('POST', '/auth/token', { body, ...(ip === undefined ? {} : { ip }) })
const me = async (token: string): Promise<number> => (await it.call('GET', '/auth/me', { token })).status

describe.skipIf(missing.length > 0)(
  `a daemon with Redis${missing.length === 0 ? '' : ` (missing: ${missing.join(', ')})`}`,
  () => {
    beforeAll(async () => {
      redis = await createRedis()
      it = await startDaemon({ env: { REDIS_URL: redis.url } })
      admin = await it.setupAdmin()
    })
    afterAll(async () => {
      await it.close()
      await redis.close()
    })

    test('starts without it and reports that; uses it once it is started', async () => {
      expect(await backend()).toEqual({
        ok: false,
        backend: 'redis',
        error: expect.stringMatching(/^Redis /) as string,
        effect: 'Replicas count limits and pass events on by way of the database, which is slower.',
        remedy: expect.any(String) as string,
      })
      expect(await me(admin)).toBe(200)
      redis.start()
      await isSaid(true)
      expect((await it.call<Report>('GET', '/health')).body.checks.info.ha.job_state_backend).toMatchObject({
        sse: 'redis',
        logs: 'redis',
      })
    })

    test('that is killed ends no protection: ended sessions stay ended, limits hold, and the rest is served', async () => {
      const [before, after] = [(await login()).body.access_token, (await login()).body.access_token]
      await it.call('POST', '/auth/logout', { token: before })
      expect(await me(before)).toBe(401)
      const ip = '198.51.100.77'
      const wrong = { username: 'nobody', password: 'x' }
      for (let n = 0; n < 8; n++) expect((await login(wrong, ip)).status).toBe(401)
      await redis.kill()
      await isSaid(false)
      expect([await me(before), await me(after)]).toEqual([401, 200])
      await it.call('POST', '/auth/logout', { token: after })
      expect(await me(after)).toBe(401)
      const answers = []
      for (let n = 0; n < 4; n++) answers.push((await login(wrong, ip)).status)
      expect(answers).toEqual([401, 401, 429, 429])
      expect((await login()).status).toBe(200)
    })

    test('that comes back empty ends no protection either', async () => {
      redis.start()
      await isSaid(true)
      expect((await login({ username: 'nobody', password: 'x' }, '198.51.100.77')).status).toBe(429)
      expect((await login()).status).toBe(200)
    })

    test('that was emptied takes no revocation back, also over a restart', async () => {
      const token = (await login()).body.access_token
      await it.call('POST', '/auth/logout', { token })
      await redis.kill()
      redis.start()
      await it.stop()
      await it.restart()
      await isSaid(true)
      expect([await me(token), await me(admin)]).toEqual([401, 200])
    })

    test('is nowhere named with its password', async () => {
      expect(it.log()).not.toContain(redis.password)
      expect((await it.call('GET', '/health')).text).not.toContain(redis.password)
    })
  },
)
