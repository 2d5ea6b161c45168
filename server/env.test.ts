import { describe, expect, test } from 'vitest'
import { ENV_TABLE } from './env-table.ts'
import { type EnvProblems, readEnv } from './env.ts'

const STRONG = {
  JWT_SECRET_KEY: 'f3a91c07d5b2e846f3a9',
  WEBHOOK_SECRET: '90ab12cd34ef56789012',
  LICENSE_VENDOR_SECRET: 'q8w7e6r5t4y3u2i1o0pa',
}

function problemsOf(vars: Record<string, string>): readonly string[] {
  try {
    readEnv(vars, '/here')
    return []
  } catch (error) {
    return (error as EnvProblems).problems
  }
}

describe('the environment', () => {
  test('production warns that SETTINGS_ENCRYPTION_KEY is not set', () => {
    const secrets = {
      ENV: 'production',
      JWT_SECRET_KEY: 'k'.repeat(16) + '0123456789abcdefgh',
      WEBHOOK_SECRET: 'w'.repeat(12) + '0123456789abcdefgh',
      LICENSE_VENDOR_SECRET: 'l'.repeat(12) + '0123456789abcdefgh',
    }
    expect(readEnv(secrets, '/').warnings).toEqual([expect.stringContaining('SETTINGS_ENCRYPTION_KEY is not set')])
    expect(readEnv({ ...secrets, MEDIA_FOLDER: '/run/gatehouse-media' }, '/').warnings).toEqual([])
  })

  test('an empty environment means development, with everything below ./var/repos', () => {
    expect(readEnv({}, '/here')).toMatchObject({
      production: false,
      host: '127.0.0.1',
      port: 8000,
      reposRoot: '/here/var/repos',
      repoFormat: 'all',
      edition: 'enterprise',
      jwtMinutes: 60,
      warnings: [],
    })
    expect(readEnv({ ENV: 'production', ...STRONG }, '/here').reposRoot).toBe('/repos')
  })

  test('every problem is reported at once with its variable, and no secret is repeated', () => {
    const problems = problemsOf({
      ENV: 'production',
      PORT: '70000',
      EDITION: 'pro',
      JWT_SECRET_KEY: 'changeme',
      DATABASE_URL: 'mysql://u:hunter2@h/d',
    })
    expect(problems.map(problem => problem.split(':')[0])).toEqual([
      'PORT',
      'DATABASE_URL',
      'JWT_SECRET_KEY',
      'WEBHOOK_SECRET',
      'LICENSE_VENDOR_SECRET',
      'EDITION',
    ])
    expect(problems.join()).not.toMatch(/hunter2|changeme/)
  })

  test.each([
    '',
    'secret',
    'change-me',
    'CHANGEME',
    'password123',
    'aaaaaaaaaaaaaaaaaaaaaaaa',
    'short',
    'your-secret-key-here',
    'my-super-secret-jwt-key',
    'please-change-me-in-production',
    'replace-with-a-random-value',
    'abc123abc123abc123',
  ])('production refuses the secret %j', weak => {
    for (const name of Object.keys(STRONG))
      expect(problemsOf({ ENV: 'production', ...STRONG, [name]: weak })).toHaveLength(1)
    expect(problemsOf({ ENV: 'development', JWT_SECRET_KEY: weak })).toEqual([])
  })

  test.each(['nonsense', 'http://127.0.0.1:6379', 'redis://', '127.0.0.1:6379', 'localhost:6379'])(
    'a REDIS_URL that no client could use is refused and not repeated: %s',
    text => {
      expect(problemsOf({ REDIS_URL: text })).toEqual([
        'REDIS_URL: it must be a URL such as redis://user:password@host:6379/0, or rediss:// for TLS.',
      ])
    },
  )

  test.each(['redis://127.0.0.1', 'redis://:secret@cache:6379/2', 'rediss://user:secret@[::1]:6380'])(
    'a REDIS_URL is taken as it is: %s',
    text => {
      expect(readEnv({ REDIS_URL: text }, '/').redisUrl).toBe(text)
    },
  )

  test('an unknown REPO_FORMAT means apt, with a warning', () => {
    expect(readEnv({ REPO_FORMAT: 'yum' }, '/')).toMatchObject({
      repoFormat: 'apt',
      warnings: [expect.stringContaining('REPO_FORMAT=yum')],
    })
  })

  test('a bcrypt hash may be written with doubled dollars', () => {
    const hash = `$2b$12$${'a'.repeat(53)}`
    for (const text of [hash, hash.replaceAll('$', '$$$$')]) {
      expect(readEnv({ ADMIN_USERNAME: 'root', ADMIN_PASSWORD_HASH: text }, '/').admin).toEqual({
        username: 'root',
        passwordHash: hash,
      })
    }
    expect(problemsOf({ ADMIN_USERNAME: 'root' })).toHaveLength(1)
    expect(problemsOf({ ADMIN_USERNAME: 'root', ADMIN_PASSWORD_HASH: 'plain' })).toHaveLength(1)
  })

  test('every variable has a description, and its default passes its own check', () => {
    for (const { description, default: standard, check } of ENV_TABLE) {
      expect(description).toMatch(/\.$/)
      if (standard !== undefined) expect(check?.(standard)).toBeUndefined()
    }
  })
})
