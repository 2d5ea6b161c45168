import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keepSecret } from './secrets.ts'

test('a secret is made once, also by parallel callers, and only its owner can read the file', async () => {
  const root = await mkdtemp(join(tmpdir(), 'gh-secrets-'))
  const layout = { secrets: join(root, '.secrets') }
  try {
    const asked = await Promise.all(Array.from({ length: 8 }, () => keepSecret(layout, 'jwt')))
    expect(new Set(asked).size).toBe(1)
    expect(asked[0]).toMatch(/^[0-9a-f]{64}$/)
    expect(await keepSecret(layout, 'jwt')).toBe(asked[0])
    expect(await keepSecret(layout, 'settings')).not.toBe(asked[0])
    expect(await readdir(layout.secrets)).toEqual(['jwt', 'settings'])
    expect((await stat(join(layout.secrets, 'jwt'))).mode & 0o777).toBe(0o600)
    expect((await stat(layout.secrets)).mode & 0o777).toBe(0o700)
    await writeFile(join(layout.secrets, 'jwt'), '')
    await expect(keepSecret(layout, 'jwt')).rejects.toThrow('damaged')
  } finally {
    await rm(root, { recursive: true, force: true })
  }
})
