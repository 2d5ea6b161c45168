import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digestFiles } from './digest-files.ts'

test('gives the SHA-256 of each file, whatever its size, and nothing for those that cannot be read', async () => {
  const root = await mkdtemp(join(tmpdir(), 'gh-test-'))
  try {
    const wanted = new Map<string, string | undefined>([
      [join(root, 'absent'), undefined],
      [root, undefined], // a folder
    ])
    for (let n = 0; n < 300; n++) {
      const bytes = Buffer.alloc(n === 7 ? 3_000_001 : n, n)
      await writeFile(join(root, String(n)), bytes)
      wanted.set(join(root, String(n)), createHash('sha256').update(bytes).digest('hex'))
    }
    expect(await digestFiles([...wanted.keys()])).toEqual(wanted)
    expect(await digestFiles([])).toEqual(new Map())
  } finally {
    await rm(root, { recursive: true, force: true })
  }
})
