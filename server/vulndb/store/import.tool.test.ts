import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { orders } from '../../../test/support/advisory-set.ts'
import { osvRecord, osvZip } from '../../../test/support/zip.ts'
import { importData, type ImportResult } from './import.ts'
import { createVulndbLayout } from './layout.ts'
import { ecosystemsOf } from '../match/ecosystems.ts'
import { repositories } from '../../../test/support/repositories.ts'

let security: string
beforeEach(async () => {
  security = await mkdtemp(join(tmpdir(), 'gh-vulndb-'))
})
afterEach(async () => {
  await rm(security, { recursive: true, force: true })
})

async function load(id: string): Promise<ImportResult> {
  const path = join(security, 'all.zip')
  await writeFile(path, osvZip([osvRecord(id, [['Debian:12', 'a', '2']])]))
  return importData(
    {
      security,
      files: [{ path, label: 'all.zip' }],
      force: false,
      key: '',
      now: new Date().toISOString(),
      ecosystems: ecosystemsOf(repositories),
    },
    orders,
  )
}
const words = async (pid: string): Promise<readonly string[]> =>
  (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
const mark = async (pid: string): Promise<string> => `${pid} ${(await words(pid))[19] ?? ''}`

test.skipIf(process.platform !== 'linux')(
  'an import that was killed does not stand in the way of the next, also while nobody has waited for it',
  async () => {
    const { folder, lock } = createVulndbLayout({ security })
    await mkdir(folder, { recursive: true })
    // its child ends when it is told to, and it never waits for it: what is left is a zombie
    const parent = spawn('/bin/sh', ['-c', 'sleep 100 & echo $!; exec sleep 100'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    try {
      const child = String((await once(parent.stdout, 'data'))[0]).trim()
      await writeFile(lock, await mark(child))
      await expect(load('DEBIAN-CVE-2026-10001')).rejects.toThrow('another import is running')
      process.kill(Number(child), 'SIGKILL')
      await expect.poll(async () => (await words(child))[0]).toBe('Z')
      expect(await load('DEBIAN-CVE-2026-10001')).toMatchObject({ status: 'imported', generation: 1 })
    } finally {
      parent.kill('SIGKILL')
    }
  },
)
