import { malformed, quote } from '../../lib/limited.ts'
import { writeEpss, writeKev } from '../intel/intel-tables.ts'
import { familyOf, type Ecosystem } from '../match/ecosystems.ts'
import { writeJarIndex } from '../java/write-jar-index.ts'
import { readCsafArchive, readCsafFile } from './csaf-file.ts'
import { readAlpineSecdb, readDebianTracker } from './distribution-feeds.ts'
import { readJson } from './json-feed.ts'
import { readNvd } from './nvd.ts'
import { readOsv } from './osv-file.ts'
import { readUnpacked, type FeedKind } from './recognise.ts'
import { note, type HashedFile, type ImportJob, type Run } from './run.ts'
import { readUpdateinfo } from './updateinfo.ts'

/** The ecosystem of `updateinfo/<codename>/…`, by one of our codenames or by the name of an ecosystem. */
function ecosystemNamed(name: string | undefined, known: ImportJob['ecosystems']): Ecosystem | undefined {
  if (name !== undefined && Object.hasOwn(known, name)) return known[name]
  return name !== undefined && /^[a-z]+(-[a-z]+)?-\d+(\.\d+)?$/.test(name) && familyOf(name)?.listsBuilds === true
    ? name
    : undefined
}

/**
 * The day that undated data cannot be newer than: the end of the year of their newest CVE. Nothing where that is about
 * now, or about the date that came with them.
 */
function dateByCves(year: number, given: string | undefined, now: string): string {
  const about = Number((given ?? now).slice(0, 4)) - (given === undefined ? 0 : 1)
  return year === 0 || year >= about ? '' : `${year}-12-31T00:00:00.000Z`
}

async function readAlpine(run: Run, file: HashedFile): Promise<void> {
  const value = await readJson(file.path, file.is)
  const { distroversion, reponame } = value as Record<string, unknown>
  const name = `alpine/${String(distroversion).replace(/[^\w.-]/g, '')}/${String(reponame).replace(/[^\w.-]/g, '')}`
  const { records, year } = readAlpineSecdb(value, { source: name, orders: run.orders, sink: run.tables })
  const as_of = dateByCves(year, file.as_of, run.job.now)
  note(run, { name, kind: 'alpine-secdb', file: { ...file, whole: true }, as_of, records })
}

async function readUpdates(run: Run, file: HashedFile): Promise<void> {
  const named = /(?:^|\/)updateinfo\/([^/]+)\//.exec(file.label)?.[1]
  const given = file.distribution ?? named
  const ecosystem = ecosystemNamed(given, run.job.ecosystems)
  if (file.distribution !== undefined && ecosystem === undefined)
    malformed(`there is no RPM distribution ${quote(file.distribution)}`)
  const name = `updateinfo/${ecosystem ?? given ?? 'several'}`
  const { records, newest } = await readUpdateinfo(
    readUnpacked(file.path, file.is.compression),
    { source: name, orders: run.orders, sink: run.tables, now: run.job.now },
    ecosystem,
  )
  note(run, { name, kind: 'updateinfo', file, as_of: newest, records })
}

/** Tables beside the advisories are whole, and as old as they say themselves, whatever the bundle says. */
function noteIntel(
  run: Run,
  { path, label, sha256 }: HashedFile,
  {
    kind,
    as_of,
    records,
  }: { readonly kind: 'kev' | 'epss' | 'jar-index'; readonly as_of: string; readonly records: number },
): void {
  note(run, { name: kind, kind, file: { path, label, sha256, whole: true }, as_of, records })
}

/** The reader for each kind of file. */
export const READERS: Readonly<Record<Exclude<FeedKind, 'bundle'>, (run: Run, file: HashedFile) => Promise<void>>> = {
  'osv': readOsv,
  'osv-record': readOsv,
  'debian-tracker': async (run, file) => {
    const { records, year } = await readDebianTracker(readUnpacked(file.path, file.is.compression), {
      source: 'debian/tracker',
      orders: run.orders,
      sink: run.tables,
    })
    const as_of = dateByCves(year, file.as_of, run.job.now)
    note(run, { name: 'debian/tracker', kind: 'debian-tracker', file: { ...file, whole: true }, as_of, records })
  },
  'alpine-secdb': readAlpine,
  'updateinfo': readUpdates,
  'kev': async (run, file) => {
    const kev = writeKev(run.folder, await readJson(file.path, file.is), {
      importedAt: run.job.now,
      sofar: run.fresh.kev,
    })
    run.fresh = { ...run.fresh, kev }
    run.intel = { ...run.intel, kev }
    noteIntel(run, file, { kind: 'kev', as_of: kev.date, records: kev.entries })
  },
  'epss': async (run, file) => {
    const epss = await writeEpss(run.folder, readUnpacked(file.path, file.is.compression), {
      label: file.label,
      importedAt: run.job.now,
      sofar: run.fresh.epss,
    })
    run.fresh = { ...run.fresh, epss }
    run.intel = { ...run.intel, epss }
    noteIntel(run, file, { kind: 'epss', as_of: `${epss.date}T00:00:00.000Z`, records: epss.entries })
  },
  'nvd': async (run, file) => {
    const name = `nvd/${/nvdcve-2\.0-(\w{1,20})\.json/.exec(file.label)?.[1] ?? 'others'}`
    const { records, newest } = await readNvd(readUnpacked(file.path, file.is.compression), {
      source: name,
      orders: run.orders,
      sink: run.tables,
    })
    note(run, { name, kind: 'nvd', file: { ...file, whole: true }, as_of: newest, records })
  },
  'csaf': async (run, file) => readCsafFile(run, file),
  'csaf-archive': async (run, file) => readCsafArchive(run, file),
  'jar-index': async (run, file) => {
    const { created, rows } = await writeJarIndex(run.folder, readUnpacked(file.path, file.is.compression))
    noteIntel(run, file, { kind: 'jar-index', as_of: created, records: rows })
  },
}
