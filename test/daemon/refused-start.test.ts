import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DAEMON_FLAGS } from '../../scripts/daemon-flags.mjs'

const MAIN = join(import.meta.dirname, '..', '..', 'server', 'main.ts')

function start(env: Record<string, string>): {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...DAEMON_FLAGS, MAIN], { encoding: 'utf8', env })
  return { status, stdout, stderr }
}

test.each([
  ['PORT', 'abc', 'PORT: it must be a whole number from 0 to 65535.'],
  [
    'REDIS_URL',
    'cache',
    'REDIS_URL: it must be a URL such as redis://user:password@host:6379/0, or rediss:// for TLS.',
  ],
  [
    'REPOS_ROOT',
    '/proc/none',
    'REPOS_ROOT=/proc/none: /proc/none cannot be made (ENOENT). Set REPOS_ROOT to a folder on a disk of this machine.',
  ],
])('a bad %s stops the start with one line that names it', (name, value, line) => {
  expect(start({ [name]: value })).toEqual({ status: 1, stdout: '', stderr: `Gatehouse does not start: ${line}\n` })
})

test('two bad variables are two lines', () => {
  const { status, stderr } = start({ PORT: 'abc', EDITION: 'pro' })
  expect([status, stderr.split('\n')]).toEqual([
    1,
    [
      expect.stringMatching(/^Gatehouse does not start: PORT: /),
      expect.stringMatching(/^Gatehouse does not start: EDITION: /),
      '',
    ],
  ])
})
