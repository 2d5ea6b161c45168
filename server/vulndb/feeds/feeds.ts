import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repositories } from '../../core/repository.ts'
import type { Clock } from '../../lib/clock.ts'
import { ecosystemOf } from '../match/ecosystems.ts'
import { loadFeedStates, saveFeedStates, type FeedState } from './feed-state.ts'
import type { Importer } from '../store/importer.ts'
import type { ImportFile } from '../read/run.ts'

/** Addresses from the settings; empty ones are skipped. */
export interface FeedAddresses {
  readonly osv_url: string
  readonly osv_ecosystems: string
  readonly debian_tracker_url: string
  readonly alpine_secdb_url: string
  readonly updateinfo_urls: string
  readonly nvd_url: string
  readonly vex_urls: string
  readonly kev_url: string
  readonly epss_url: string
}

/** One address, the source that it feeds, and the name for its file. */
export interface Feed {
  readonly url: string
  readonly source: string
  readonly label: string
  readonly distribution?: string
}

const below = (base: string, path: string): string => `${base.replace(/\/+$/, '')}/${path}`

/** The setting `updateinfo_urls`: `codename=address`, separated by blanks. */
export function readUpdateinfoUrls(text: string): readonly { readonly codename: string; readonly url: string }[] {
  return text
    .split(' ')
    .filter(one => one !== '')
    .map(one => ({ codename: one.slice(0, one.indexOf('=')), url: one.slice(one.indexOf('=') + 1) }))
}

/** The first year of the NVD's files; it holds all that is older. */
const FIRST_YEAR = 2002
/** Bytes of a file that holds the name of another. */
const MOST_NAME = 4_096
/** The file that names the newest archive, as Red Hat writes it. */
const LATEST = /\/archive_latest\.txt$/

/** Every address to fetch. @param year  this one, the last of the NVD's files */
export function listFeeds(at: FeedAddresses, repositories: Pick<Repositories, 'all' | 'find'>, year: number): Feed[] {
  const feeds: Feed[] = []
  if (at.osv_url !== '') {
    for (const name of at.osv_ecosystems
      .split(',')
      .map(text => text.trim())
      .filter(text => /^[A-Za-z0-9. -]{1,60}$/.test(text))) {
      feeds.push({
        url: below(at.osv_url, `${encodeURIComponent(name)}/all.zip`),
        source: `osv/${name}`,
        label: `osv/${name}/all.zip`,
      })
    }
  }
  if (at.debian_tracker_url !== '')
    feeds.push({ url: at.debian_tracker_url, source: 'debian/tracker', label: 'debian/tracker.json' })
  if (at.alpine_secdb_url !== '') {
    const releases = repositories
      .all()
      .map(distribution => ecosystemOf(distribution).ecosystem)
      .filter(name => name.startsWith('alpine-'))
      .map(name => name.replace('alpine-', 'v'))
    // own distributions may share one
    for (const release of new Set(releases)) {
      for (const repository of ['main', 'community']) {
        feeds.push({
          url: below(at.alpine_secdb_url, `${release}/${repository}.json`),
          source: `alpine/${release}/${repository}`,
          label: `alpine/${release}/${repository}.json`,
        })
      }
    }
  }
  readUpdateinfoUrls(at.updateinfo_urls).forEach(({ codename, url }, n) => {
    const distribution = repositories.find(codename)
    if (distribution !== undefined)
      feeds.push({
        url,
        source: `updateinfo/${ecosystemOf(distribution).ecosystem}`,
        label: `updateinfo/${codename}/${n}.xml`,
        distribution: codename,
      })
  })
  if (at.nvd_url !== '')
    for (let of = FIRST_YEAR; of <= year; of++)
      feeds.push({
        url: below(at.nvd_url, `nvdcve-2.0-${of}.json.gz`),
        source: `nvd/${of}`,
        label: `nvd/nvdcve-2.0-${of}.json.gz`,
      })
  at.vex_urls
    .split(' ')
    .filter(url => URL.canParse(url))
    .forEach((url, n) => feeds.push({ url, source: `vex/${new URL(url).hostname}`, label: `csaf/${n}` }))
  if (at.kev_url !== '')
    feeds.push({ url: at.kev_url, source: 'kev', label: 'kev/known_exploited_vulnerabilities.json' })
  if (at.epss_url !== '') feeds.push({ url: at.epss_url, source: 'epss', label: 'epss/epss_scores-current.csv.gz' })
  return feeds
}

/** The date of a header such as Last-Modified, ISO 8601. */
function dateOf(header: string | undefined): string | undefined {
  const at = new Date(header ?? '')
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

export interface FetchedFeed {
  readonly status: number
  readonly notModified: boolean
  readonly etag: string | undefined
  readonly lastModified: string | undefined
}
export interface FetchFeedOptions {
  readonly to: string
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
  readonly limitBytes: number
  readonly signal: AbortSignal
}
/** How feeds are fetched: the part of `outbound/`'s guarded fetch that is needed here. */
export type FetchFeed = (url: string, options: FetchFeedOptions) => Promise<FetchedFeed>

export interface FeedsDeps {
  readonly security: string
  readonly importer: Pick<Importer, 'import'>
  readonly fetch: FetchFeed
  readonly addresses: () => FeedAddresses
  readonly limitBytes: () => number
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'all' | 'find'>
  readonly warn: (facts: object, message: string) => void
}

export interface FeedsRun {
  readonly asked: number
  readonly fetched: number
  readonly failed: readonly { readonly source: string; readonly why: string }[]
}

export interface FeedsOptions {
  readonly only?: (feed: Feed) => boolean
  readonly signal?: AbortSignal
  /** Called after each source with how many are done, of how many, and why this one failed. */
  readonly told?: (done: number, of: number, failed: FeedsRun['failed'][number] | undefined) => Promise<void>
}

/** The kind of job that fetches them. */
export const FEEDS = 'vulndb-feeds'

/** Keeps the data current where there is a network. */
export interface Feeds {
  isConfigured(): boolean
  /**
   * Fetches every address, if it changed, and imports it. A failing address does not affect the others.
   * @throws the reason of `signal`; what was imported until then stays
   */
  run(options?: FeedsOptions): Promise<FeedsRun>
}

interface Asking {
  readonly folder: string
  readonly signal: AbortSignal
}

const NEVER = new AbortController().signal

/** Fetches the feeds that the settings name, and imports what is new. */
export function createFeeds({
  security,
  importer,
  fetch,
  addresses,
  limitBytes,
  clock,
  repositories,
  warn,
}: FeedsDeps): Feeds {
  /** The address of the archive that a file names, in the same folder. */
  async function newestArchive(url: string, to: string, signal: AbortSignal): Promise<string> {
    const { status } = await fetch(url, { to, limitBytes: MOST_NAME, signal })
    if (status !== 200) throw new Error(`the answer was ${status}`)
    const name = (await readFile(to, 'utf8')).trim()
    if (!/^[\w.-]+\.tar\.(?:zst|gz|xz|bz2)$/.test(name)) throw new Error('it does not name an archive')
    return url.replace(LATEST, `/${name}`)
  }

  /** The result for one address: a file, nothing new, or why it failed. */
  async function ask(
    feed: Feed,
    known: FeedState | undefined,
    { folder, signal }: Asking,
  ): Promise<{ readonly state: FeedState; readonly file?: ImportFile }> {
    const checkedAt = clock.now().toISOString()
    const to = join(folder, randomUUID())
    try {
      const url = LATEST.test(feed.url) ? await newestArchive(feed.url, to, signal) : feed.url
      const { status, notModified, etag, lastModified } = await fetch(url, {
        to,
        etag: known?.etag,
        lastModified: known?.last_modified,
        limitBytes: limitBytes(),
        signal,
      })
      if (notModified && known !== undefined)
        return {
          state: {
            etag: known.etag,
            last_modified: known.last_modified,
            source: feed.source,
            checked_at: checkedAt,
          } as FeedState,
        }
      if (status !== 200) throw new Error(`the answer was ${status}`)
      const state = {
        source: feed.source,
        checked_at: checkedAt,
        ...(etag === undefined ? {} : { etag }),
        ...(lastModified === undefined ? {} : { last_modified: lastModified }),
      }
      return {
        state,
        file: {
          path: to,
          label: feed.label,
          ...(dateOf(lastModified) === undefined ? {} : { as_of: dateOf(lastModified) as string }),
          whole: true,
          ...(feed.distribution === undefined ? {} : { distribution: feed.distribution }),
        },
      }
    } catch (error) {
      // the time when it was last current stays
      const why = error instanceof Error ? error.message.slice(0, 300) : 'it failed'
      return { state: { ...known, source: feed.source, checked_at: known?.checked_at ?? '', error: why } }
    }
  }

  return {
    isConfigured: () => listFeeds(addresses(), repositories, clock.now().getUTCFullYear()).length > 0,
    async run({ only = () => true, signal = NEVER, told = async () => undefined } = {}) {
      const folder = join(security, 'feeds', randomUUID())
      await mkdir(folder, { recursive: true })
      try {
        const states: Record<string, FeedState> = { ...(await loadFeedStates(security)) }
        const feeds = listFeeds(addresses(), repositories, clock.now().getUTCFullYear()).filter(only)
        const failed: { source: string; why: string }[] = []
        let fetched = 0
        // repositories of one distribution feed one source, so when one is new all are loaded again
        const sources = new Map<string, Feed[]>()
        for (const feed of feeds) sources.set(feed.source, [...(sources.get(feed.source) ?? []), feed])
        for (const [n, [source, group]] of [...sources].entries()) {
          signal.throwIfAborted()
          const answers = await askGroup(group, states, { folder, signal })
          signal.throwIfAborted()
          const wrong = answers.find(({ state }) => state.error !== undefined)
          const files = answers.flatMap(({ file }) => file ?? [])
          let why = wrong?.state.error
          if (why === undefined && files.length > 0) why = await importFiles(files)
          if (why === undefined) fetched += files.length
          else {
            failed.push({ source, why })
            warn({ source, why }, 'vulnerability data could not be fetched')
          }
          group.forEach((feed, n) => {
            const state = answers[n]?.state
            if (state !== undefined)
              states[feed.url] =
                why === undefined
                  ? state
                  : { ...states[feed.url], source, checked_at: states[feed.url]?.checked_at ?? '', error: why }
          })
          await Promise.all(files.map(({ path }) => rm(path, { force: true })))
          await saveFeedStates(security, states)
          await told(n + 1, sources.size, why === undefined ? undefined : { source, why })
        }
        return { asked: feeds.length, fetched, failed }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }

  async function importFiles(files: readonly ImportFile[]): Promise<string | undefined> {
    try {
      await importer.import(files, { trusted: true })
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message.slice(0, 500) : 'it broke'
    }
  }

  async function askGroup(
    group: readonly Feed[],
    states: Readonly<Record<string, FeedState>>,
    asking: Asking,
  ): Promise<{ readonly state: FeedState; readonly file?: ImportFile }[]> {
    const answers = []
    for (const feed of group) answers.push(await ask(feed, states[feed.url], asking))
    const isNew = answers.some(({ file }) => file !== undefined)
    if (!isNew || group.length === 1) return answers
    return Promise.all(
      answers.map(async (answer, n) =>
        answer.file !== undefined || answer.state.error !== undefined
          ? answer
          : ask(group[n] as Feed, undefined, asking),
      ),
    )
  }
}
