import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Daemon } from './daemon.ts'

/** The archive of the audit log as somebody gets it, unpacked by tar: the name of a file → its text. */
export async function fetchAuditArchive(daemon: Daemon, token: string): Promise<ReadonlyMap<string, string>> {
  const answer = await fetch(`${daemon.url}/api/v1/artifacts/audit/export/archive`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/gzip'])
  const folder = await mkdtemp(join(tmpdir(), 'gh-archive-'))
  try {
    const { status, stderr } = spawnSync('tar', ['-xzf', '-', '-C', folder], {
      input: Buffer.from(await answer.arrayBuffer()),
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
    const names = (await readdir(join(folder, 'audit'))).sort()
    return new Map(
      await Promise.all(names.map(async name => [name, await readFile(join(folder, 'audit', name), 'utf8')] as const)),
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}
