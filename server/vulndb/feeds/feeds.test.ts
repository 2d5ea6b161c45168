import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadFeedStates } from './feed-state.ts'
import { createFeeds, listFeeds, type FeedAddresses, type FetchFeedOptions } from './feeds.ts'
import type { ImportResult } from '../store/import.ts'
import type { ImportFile } from '../read/run.ts'
import { repositories } from '../../../test/support/repositories.ts'

const NONE: FeedAddresses = {
  osv_url: '',
  osv_ecosystems: 'Debian, Rocky Linux',
  debian_tracker_url: '',
  alpine_secdb_url: '',
  updateinfo_urls: '',
  nvd_url: '',
  vex_urls: '',
  kev_url: '',
  epss_url: '',
}
let security: string
beforeEach(async () => {
  security = await mkdtemp(join(tmpdir(), 'gh-feeds-'))
})
afterEach(async () => {
  await rm(security, { recursive: true, force: true })
})

/** Feeds over an internet of a few addresses: text, or the status that they answer. */
function world(addresses: Partial<FeedAddresses>, answers: Record<string, string | number>) {
  const asked: string[] = []
  const imported: (readonly ImportFile[])[] = []
  let hour = 0
  const feeds = createFeeds({
    security,
    repositories,
    addresses: () => ({ ...NONE, ...addresses }),
    limitBytes: () => 1_000,
    clock: { now: () => new Date(Date.UTC(2026, 0, 1, hour)) },
    warn: () => undefined,
    importer: {
      import: async (files: readonly ImportFile[]) => {
        imported.push(files)
        return {} as ImportResult
      },
    },
    fetch: async (url: string, { to, etag }: FetchFeedOptions) => {
      asked.push(`${url}${etag === undefined ? '' : ` if not ${etag}`}`)
      const answer = answers[url] ?? 404
      if (typeof answer === 'number')
        return { status: answer, notModified: false, etag: undefined, lastModified: undefined }
      if (etag === answer) return { status: 304, notModified: true, etag, lastModified: undefined }
      await writeFile(to, answer)
      return { status: 200, notModified: false, etag: answer, lastModified: 'Tue, 30 Dec 2025 06:00:00 GMT' }
    },
  })
  return {
    feeds,
    asked,
    imported,
    later: () => {
      hour++
    },
    answers,
  }
}

test('only addresses that are set are asked', () => {
  expect(listFeeds(NONE, repositories, 2026)).toEqual([])
  expect(world({}, {}).feeds.isConfigured()).toBe(false)
  expect(
    listFeeds(
      {
        ...NONE,
        osv_url: 'https://osv.test/',
        kev_url: 'https://kev.test/kev.json',
        updateinfo_urls: 'rocky9=https://r.test/a.xml.gz rocky9=https://r.test/b.xml.gz nonsense=https://x.test/',
      },
      repositories,
      2026,
    ).map(({ url, source }) => [url, source]),
  ).toEqual([
    ['https://osv.test/Debian/all.zip', 'osv/Debian'],
    ['https://osv.test/Rocky%20Linux/all.zip', 'osv/Rocky Linux'],
    ['https://r.test/a.xml.gz', 'updateinfo/rocky-9'],
    ['https://r.test/b.xml.gz', 'updateinfo/rocky-9'],
    ['https://kev.test/kev.json', 'kev'],
  ])
  expect(
    listFeeds({ ...NONE, alpine_secdb_url: 'https://secdb.test' }, repositories, 2026).map(({ url }) => url),
  ).toContain('https://secdb.test/v3.20/community.json')
})
test('the second request is conditional; what is new is as old as the address says, not as the day of the fetch', async () => {
  const { feeds, asked, imported, later } = world({ kev_url: 'https://kev.test/a' }, { 'https://kev.test/a': 'one' })
  expect(await feeds.run()).toEqual({ asked: 1, fetched: 1, failed: [] })
  later()
  expect(await feeds.run()).toEqual({ asked: 1, fetched: 0, failed: [] })
  expect(asked).toEqual(['https://kev.test/a', 'https://kev.test/a if not one'])
  expect(imported.map(files => files.map(({ label, as_of: at, whole }) => [label, at, whole]))).toEqual([
    [['kev/known_exploited_vulnerabilities.json', '2025-12-30T06:00:00.000Z', true]],
  ])
  expect(await loadFeedStates(security)).toEqual({
    'https://kev.test/a': {
      etag: 'one',
      last_modified: 'Tue, 30 Dec 2025 06:00:00 GMT',
      source: 'kev',
      checked_at: '2026-01-01T01:00:00.000Z',
    },
  })
})
test('one that fails leaves the others alone, and when it was last current stays known', async () => {
  const { feeds, answers, later } = world(
    { osv_url: 'https://osv.test', kev_url: 'https://kev.test/a' },
    { 'https://osv.test/Debian/all.zip': 'one', 'https://kev.test/a': 'two' },
  )
  expect(await feeds.run()).toEqual({
    asked: 3,
    fetched: 2,
    failed: [{ source: 'osv/Rocky Linux', why: 'the answer was 404' }],
  })
  later()
  answers['https://kev.test/a'] = 500
  expect((await feeds.run()).failed).toHaveLength(2)
  expect((await loadFeedStates(security))['https://kev.test/a']).toMatchObject({
    checked_at: '2026-01-01T00:00:00.000Z',
    error: 'the answer was 500',
  })
})
test('when one repository of a distribution is new, all of it is loaded again', async () => {
  const { feeds, answers, imported } = world(
    { updateinfo_urls: 'rocky9=https://r.test/a rocky9=https://r.test/b' },
    { 'https://r.test/a': 'one', 'https://r.test/b': 'two' },
  )
  await feeds.run()
  answers['https://r.test/b'] = 'three'
  await feeds.run()
  expect(imported.map(files => files.length)).toEqual([2, 2])
})

test("the NVD's files are those of every year until now", () => {
  const feeds = listFeeds({ ...NONE, nvd_url: 'https://nvd.example/2.0/' }, repositories, 2004)
  expect(feeds.map(({ url, source }) => [url, source])).toEqual([
    ['https://nvd.example/2.0/nvdcve-2.0-2002.json.gz', 'nvd/2002'],
    ['https://nvd.example/2.0/nvdcve-2.0-2003.json.gz', 'nvd/2003'],
    ['https://nvd.example/2.0/nvdcve-2.0-2004.json.gz', 'nvd/2004'],
  ])
})

test('a file that names the newest archive is followed, and only a new archive is imported', async () => {
  const { feeds, asked, imported, answers, later } = world(
    { vex_urls: 'https://vex.example/v2/archive_latest.txt https://other.example/vex-all.tar.xz' },
    {
      'https://vex.example/v2/archive_latest.txt': 'csaf_vex_2026-01-01.tar.zst\n',
      'https://vex.example/v2/csaf_vex_2026-01-01.tar.zst': 'A',
      'https://vex.example/v2/csaf_vex_2026-01-02.tar.zst': 'B',
      'https://other.example/vex-all.tar.xz': 'C',
    },
  )
  expect(await feeds.run()).toEqual({ asked: 2, fetched: 2, failed: [] })
  later()
  expect(await feeds.run()).toEqual({ asked: 2, fetched: 0, failed: [] })
  answers['https://vex.example/v2/archive_latest.txt'] = 'csaf_vex_2026-01-02.tar.zst'
  expect(await feeds.run()).toEqual({ asked: 2, fetched: 1, failed: [] })
  expect(imported.flat().map(({ label, whole }) => [label, whole])).toEqual([
    ['csaf/0', true],
    ['csaf/1', true],
    ['csaf/0', true],
  ])
  expect(asked.at(-2)).toBe('https://vex.example/v2/csaf_vex_2026-01-02.tar.zst if not A')
  answers['https://vex.example/v2/archive_latest.txt'] = '../../etc/passwd'
  expect(await feeds.run()).toMatchObject({
    failed: [{ source: 'vex/vex.example', why: 'it does not name an archive' }],
  })
})
