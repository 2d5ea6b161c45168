import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ESLint, Linter } from 'eslint'
import { describe, expect, test } from 'vitest'
import { verifiedTls } from './verified-tls.ts'

const ROOT = join(import.meta.dirname, '..')
const linter = new Linter()
const complaints = (code: string): number =>
  linter.verify(code, { plugins: { house: { rules: { tls: verifiedTls } } }, rules: { 'house/tls': 'error' } }).length

describe('a request that does not verify who answers', () => {
  test.each([
    'https.request({ rejectUnauthorized: false })',
    "https.request({ 'rejectUnauthorized': false })",
    'https.request({ rejectUnauthorized: verify })',
    'https.request({ rejectUnauthorized: 0 })',
    'const options = {}; options.rejectUnauthorized = false',
    'tls.connect({ checkServerIdentity: () => undefined })',
    'tls.connect({ checkServerIdentity() {} })',
    "process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'",
    'process.env.NODE_TLS_REJECT_UNAUTHORIZED = 0',
  ])('is refused: %s', code => {
    expect(complaints(code)).toBe(1)
  })

  test.each(['https.request({ rejectUnauthorized: true })', 'new https.Agent({ ca: [pem] })', 'const reject = false'])(
    'is not: %s',
    code => {
      expect(complaints(code)).toBe(0)
    },
  )
})

describe('the rule', () => {
  const eslint = new ESLint({ cwd: ROOT })
  const level = async (file: string): Promise<unknown> => {
    const config = (await eslint.calculateConfigForFile(join(ROOT, file))) as {
      rules?: Record<string, readonly unknown[]>
    }
    return config.rules?.['house/verified-tls']?.[0] ?? 0
  }

  test('holds in the whole desktop program but for the file that reads a chain', async () => {
    const files = [
      'electron/core/pinned-client.ts',
      'electron/core/forward.ts',
      'electron/main.ts',
      'electron/host/window.ts',
    ]
    expect(await Promise.all(files.map(level))).toEqual([2, 2, 2, 2])
    expect(await level('electron/core/chain.ts')).toBe(0)
  })

  test('leaves that file nothing to send with', () => {
    const text = readFileSync(join(ROOT, 'electron', 'core', 'chain.ts'), 'utf8')
    const imports = [...text.matchAll(/from '([^']+)'/g)].map(([, name]) => name)
    expect(imports).toEqual(['node:crypto', 'node:tls', './fingerprint.ts'])
    expect(text).not.toMatch(/\.write\(|\.end\(|\.pipe\(|fetch\(|request\(/)
  })
})
