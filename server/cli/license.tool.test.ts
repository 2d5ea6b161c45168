import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLicense } from '../core/license.ts'

const SECRET = 'what only the vendor of these tests knows'
const run = (
  args: readonly string[],
  secret = SECRET,
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'license.ts'), ...args], {
    encoding: 'utf8',
    env: { LICENSE_VENDOR_SECRET: secret },
  })
  return { status, stdout, stderr }
}

test('a key that the service takes is printed, for as many days as were asked', () => {
  const { status, stdout, stderr } = run(['--to', 'Nordwerk ÄG', '--days', '30'])
  expect([status, stderr]).toEqual([0, ''])
  const license = readLicense(stdout.trim(), SECRET)
  expect(license?.issued_to).toBe('Nordwerk ÄG')
  expect(Date.parse(license?.expires_at ?? '') - Date.parse(license?.issued_at ?? '')).toBe(30 * 86_400_000)
})

test.each([
  [['--help']],
  [['Nordwerk AG']],
  [['--to']],
  [[]],
  [['--to', 'Nordwerk AG', '--days', '0']],
  [['--to', 'Nordwerk AG', '--days', 'many']],
])('wrong arguments are answered with one line of usage, without a stack: %j', args => {
  const usage = 'LICENSE_VENDOR_SECRET=… npm run license -- --to "Name of the customer" [--days 365]\n'
  expect(run(args)).toEqual({ status: 2, stdout: '', stderr: usage })
  expect(run(['--to', 'Nordwerk AG'], '')).toEqual({ status: 2, stdout: '', stderr: usage })
})
