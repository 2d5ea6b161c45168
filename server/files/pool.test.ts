import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sha256, type Sha256 } from '../core/identity.ts'
import { createPool, readPooled } from './pool.ts'
import type { SpooledFile } from './spool.ts'
import { layoutOf } from '../../test/support/repositories.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'pool-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const digestOf = (text: string): Sha256 => sha256(createHash('sha256').update(text).digest('hex'))

async function makePool(now = new Date()) {
  const layout = layoutOf(root)
  await mkdir(layout.incoming, { recursive: true })
  let n = 0
  async function spooled(text: string): Promise<SpooledFile> {
    const path = join(layout.incoming, String(n++))
    await writeFile(path, text)
    return {
      path,
      filename: 'a.deb',
      head: new Uint8Array(),
      blob: { sha256: digestOf(text), size: text.length, md5: '', sha1: '', sha512: '' },
      discard: () => rm(path, { force: true }),
    }
  }
  const exists = (path: string): Promise<boolean> =>
    stat(path).then(
      () => true,
      () => false,
    )
  return { pool: createPool({ layout, clock: { now: () => now } }), layout, spooled, exists }
}

describe('the pool', () => {
  test.each(['pool', 'quarantine'] as const)('keeps what a later version sends out of the %s', async where => {
    const { pool, spooled } = await makePool()
    const file = await spooled('upstream')
    await (where === 'pool' ? pool.add(file) : pool.quarantine(file))
    const path = await pool.locate(file.blob.sha256)
    const again = await readPooled(pool, [{ path: 'acme_1.0.orig.tar.gz', blob: file.blob }])
    expect(again.path).toBe(path)
    if (where === 'quarantine') await pool.quarantine(again)
    expect(await readFile(path, 'utf8')).toBe('upstream')
    await pool.add(again)
    expect(await pool.has(file.blob.sha256)).toBe('pool')
    expect(await readFile(await pool.locate(file.blob.sha256), 'utf8')).toBe('upstream')
  })

  test('takes a spooled file and finds it by its digest', async () => {
    const { pool, layout, spooled, exists } = await makePool()
    const file = await spooled('hello')
    expect(await pool.has(file.blob.sha256)).toBe('nowhere')
    await expect(pool.locate(file.blob.sha256)).rejects.toMatchObject({ code: 'ENOENT' })
    await pool.add(file)
    expect(await pool.has(file.blob.sha256)).toBe('pool')
    expect(await readFile(await pool.locate(file.blob.sha256), 'utf8')).toBe('hello')
    expect(await exists(file.path)).toBe(false)
    expect(layout.blob(file.blob.sha256)).toBe(await pool.locate(file.blob.sha256))
  })

  test('takes the same bytes twice, also at the same moment, and leaves nothing in incoming/', async () => {
    const { pool, spooled, exists } = await makePool()
    const files = await Promise.all(Array.from({ length: 8 }, () => spooled('same')))
    await Promise.all(files.map(file => pool.add(file)))
    expect(await Promise.all(files.map(file => exists(file.path)))).toEqual(Array(8).fill(false))
    expect(await readFile(await pool.locate(digestOf('same')), 'utf8')).toBe('same')
  })

  test('replaces a blob whose size is wrong', async () => {
    const { pool, layout, spooled } = await makePool()
    const file = await spooled('whole')
    await mkdir(dirname(layout.blob(file.blob.sha256)), { recursive: true })
    await writeFile(layout.blob(file.blob.sha256), 'wh')
    await pool.add(file)
    expect(await readFile(await pool.locate(file.blob.sha256), 'utf8')).toBe('whole')
  })
})

describe('quarantine', () => {
  test('holds what the pool does not have', async () => {
    const { pool, spooled } = await makePool()
    await pool.quarantine(await spooled('bad'))
    expect(await pool.has(digestOf('bad'))).toBe('quarantine')
    expect(await readFile(await pool.locate(digestOf('bad')), 'utf8')).toBe('bad')
  })

  test('never removes bytes from the pool', async () => {
    const { pool, spooled, exists } = await makePool()
    await pool.add(await spooled('both'))
    const again = await spooled('both')
    await pool.quarantine(again)
    expect(await pool.has(digestOf('both'))).toBe('pool')
    expect(await exists(again.path)).toBe(false)
  })

  test('is left by release and entered by confine, any number of times', async () => {
    const { pool, layout, spooled, exists } = await makePool()
    const digest = digestOf('moved')
    await pool.quarantine(await spooled('moved'))
    await pool.release(digest)
    await pool.release(digest)
    expect([await pool.has(digest), await exists(layout.quarantined(digest))]).toEqual(['pool', false])
    await pool.confine(digest)
    await pool.confine(digest)
    expect([await pool.has(digest), await exists(layout.blob(digest))]).toEqual(['quarantine', false])
    await pool.remove(digest)
    await pool.remove(digest)
    expect(await pool.has(digest)).toBe('nowhere')
    await pool.release(digest)
    expect(await pool.has(digest)).toBe('nowhere')
  })

  test('is empty of bytes that are added to the pool later', async () => {
    const { pool, layout, spooled, exists } = await makePool()
    await pool.quarantine(await spooled('twice'))
    await pool.add(await spooled('twice'))
    expect([await pool.has(digestOf('twice')), await exists(layout.quarantined(digestOf('twice')))]).toEqual([
      'pool',
      false,
    ])
  })
})

describe('a sweep', () => {
  async function filled() {
    const made = await makePool()
    const old = new Date(Date.now() - 2 * 3600_000)
    for (const text of ['needed', 'old', 'young']) await made.pool.add(await made.spooled(text))
    await made.pool.quarantine(await made.spooled('confined'))
    for (const text of ['needed', 'old']) await utimes(made.layout.blob(digestOf(text)), old, old)
    await utimes(made.layout.quarantined(digestOf('confined')), old, old)
    return made
  }

  test('deletes files that are not needed and older than an hour, in pool and quarantine', async () => {
    const { pool } = await filled()
    expect(await pool.sweep(async digest => digest === digestOf('needed'))).toEqual({ removed: 2 })
    expect(await Promise.all(['needed', 'old', 'young', 'confined'].map(text => pool.has(digestOf(text))))).toEqual([
      'pool',
      'nowhere',
      'pool',
      'nowhere',
    ])
  })

  test('keeps old bytes that a new upload has just sent again', async () => {
    const { pool, spooled } = await filled()
    await pool.add(await spooled('old'))
    await pool.sweep(async () => false)
    expect(await pool.has(digestOf('old'))).toBe('pool')
  })
})
