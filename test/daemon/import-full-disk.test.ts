import { randomBytes } from 'node:crypto'
import { readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDb } from '../../server/db/db.ts'
import { DATABASE } from '../../server/db/embedded.ts'
import { findRunning } from '../../server/db/pid-file.ts'
import type { ImportReply } from '../../server/features/imports/contract.ts'
import type { MirrorReport } from '../../server/imports/mirror/report.ts'
import type { DebSpec } from '../support/packages.ts'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'
import { startWithSource, type WithSource } from '../support/with-source.ts'

const MB = 1024 ** 2
const SIZE_MB = 8

const disk = await mountSmallDisk(700)

/** `d0` needs `d1`, which needs `d2`: a chain of files that take room. */
const chain = (letter: string, length: number): DebSpec[] =>
  Array.from({ length }, (_, n) => ({
    name: `${letter}${n}`,
    version: '1.0',
    fields: n + 1 < length ? { Depends: `${letter}${n + 1}` } : {},
    files: { 'usr/share/noise': randomBytes(SIZE_MB * MB) },
  }))

describe.skipIf(disk === undefined)('an import on a disk that fills (needs to be root, and mount)', () => {
  const root = disk ?? ''
  let with_: WithSource
  const free = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(root)
    return bavail * bsize
  }
  const setLeast = async (gb: number): Promise<void> =>
    void expect(
      (await with_.call('PATCH', '/settings/', { disk: { min_free_disk_gb: gb, warn_used_pct: 0 } })).status,
    ).toBe(200)
  const filler = join(root, 'somebody-else')
  /** Leaves so many MB free. */
  const fillTo = async (mb: number): Promise<void> =>
    writeFile(filler, Buffer.alloc(Math.max(0, (await free()) - mb * MB), 1))
  /** The database begins the next part of its log, of 16 MB: on a full disk it could not, and would end. */
  const giveDatabaseRoom = async (): Promise<void> => {
    const running = await findRunning(join(root, '.pg'))
    const db = createDb({ socket: running?.socket ?? '', database: DATABASE })
    await db.query('select pg_switch_wal()')
    await db.query(`select pg_logical_emit_message(true, 'test', 'the first line of the next part')`)
    await db.close()
  }
  const isIn = async (name: string): Promise<boolean> =>
    (await with_.call<{ total: number }>('GET', `/packages/?q=${name}`)).body.total === 1
  const fetchNow = (name: string) =>
    with_.call<ImportReply & { code?: string }>('POST', '/import/fetch', {
      name,
      distribution: 'bookworm',
      group: name,
    })
  const fates = ({ packages }: ImportReply): string[] => packages.map(({ name, status }) => `${name} ${status}`).sort()
  const ofFiles = (): string[] => with_.upstream.log.map(({ path }) => path).filter(path => path.endsWith('.deb'))
  const halves = async (): Promise<string[]> => [
    ...(await readdir(join(root, '.imports')).catch(() => [])),
    ...(await readdir(join(root, 'incoming'))),
  ]

  beforeAll(async () => {
    with_ = await startWithSource(
      { root, env: { DATABASE_URL: undefined, LOG_LEVEL: 'error' } },
      { disk: { min_free_disk_gb: 0.05, warn_used_pct: 0, reserve_mb: 0 }, mirror: { min_free_disk_gb: 0 } },
    )
    await with_.offer([...chain('a', 3), ...chain('b', 4), ...chain('c', 4), ...chain('d', 3)])
  })
  afterAll(async () => {
    await with_.close()
    await unmountSmallDisk(root)
  })

  test('of a closure that does not fit is told before a file is fetched', async () => {
    await fillTo(90)
    with_.upstream.forget()
    const { status, body } = await fetchNow('a0')
    expect([status, body.code]).toEqual([507, 'import_no_room'])
    expect(ofFiles()).toEqual([])
    expect(await halves()).toEqual([])
    await rm(filler)
    expect(fates((await fetchNow('a0')).body)).toEqual(['a0 added', 'a1 added', 'a2 added'])
  })

  test('ends before a file that no longer fits, with what came so far, and goes on when asked again', async () => {
    const filled = Promise.withResolvers<undefined>()
    // the last of the chain comes first; the others wait until somebody else has filled the disk
    with_.upstream.rules({ match: /\/b2_/, until: filled.promise }, { match: /\/b1_|\/b0_/, until: filled.promise })
    const asked = fetchNow('b0')
    await expect.poll(() => ofFiles().some(path => path.includes('/b2_')), { timeout: 60_000 }).toBe(true)
    // all of them are asked for at once: the first one may still be on its way
    await expect.poll(() => isIn('b3'), { timeout: 60_000 }).toBe(true)
    await fillTo(60)
    filled.resolve(undefined)
    const { status, body } = await asked
    expect([status, body.stopped], JSON.stringify(body)).toEqual([200, 'out_of_space'])
    expect(body.status).toBe('partial')
    expect(body.message).toMatch(/left over\. The disk has no room for more\. Delete packages/)
    expect(fates(body)).toContain('b3 added')
    expect(fates(body)).toContain('b0 waiting')
    expect(await halves()).toEqual([])
    const { text } = await with_.call('GET', `/jobs/${body.job_id}`)
    expect(text).toContain('"stopped":"out_of_space"')
    await rm(filler)
    with_.upstream.rules()
    const again = (await fetchNow('b0')).body
    expect([again.status, again.stopped]).toEqual(['complete', null])
  })

  test('on a disk that is full to its last byte in the middle of a file leaves no half of it', async () => {
    await setLeast(0)
    const filled = Promise.withResolvers<undefined>()
    with_.upstream.rules({ match: /\/c[0-3]_/, until: filled.promise })
    const asked = fetchNow('c0')
    await expect.poll(() => ofFiles().some(path => path.includes('/c3_')), { timeout: 60_000 }).toBe(true)
    await giveDatabaseRoom()
    // 16 MB for the files, of which each has 8, and for the database
    await fillTo(20)
    filled.resolve(undefined)
    const { status, body } = await asked
    expect([status, body.stopped], JSON.stringify(body)).toEqual([200, 'out_of_space'])
    expect(fates(body)).toContain('c0 waiting')
    expect(await halves()).toEqual([])
    await rm(filler)
    with_.upstream.rules()
    await setLeast(0.05)
    expect((await fetchNow('c0')).body.status).toBe('complete')
  })

  test('of a mirror ends with the disk as the reason, and the next run brings the rest', async () => {
    const begin = async (): Promise<MirrorReport | undefined> => {
      const { body } = await with_.call<{ job_id: string }>('POST', '/import/mirror/start/elsewhere')
      const path = `/import/mirror/jobs/${body.job_id}`
      await expect.poll(async () => (await with_.call('GET', path)).body.status, { timeout: 60_000 }).toBe('done')
      const listed = await with_.call<{ sources: { id: string; report: MirrorReport }[] }>(
        'GET',
        '/import/mirror/sources',
      )
      return listed.body.sources.find(({ id }) => id === 'elsewhere')?.report
    }
    await fillTo(60)
    expect(await begin()).toMatchObject({ end: 'disk', added: 0, errors: 0, remaining: 3 })
    expect(await halves()).toEqual([])
    await rm(filler)
    expect(await begin()).toMatchObject({ end: 'complete', added: 3 })
  })
})
