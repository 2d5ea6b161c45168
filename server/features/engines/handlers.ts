import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import { missingCataloguesWarning, switchedOff, whileUnavailable } from '../../core/policy.ts'
import type { Distribution } from '../../core/repository.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import { AppError, isRefusal } from '../../core/errors.ts'
import { readBody } from '../../files/form.ts'
import { copyFromMedium, findOnMedium } from '../../machine/media.ts'
import { dataWarning } from '../../scanners/data-warning.ts'
import {
  doesNotAnswer,
  EngineUnavailable,
  type AntivirusScanner,
  type VulnerabilityScanner,
} from '../../scanners/scanner.ts'
import { loadFeedStates } from '../../vulndb/feeds/feed-state.ts'
import { readUpdateinfoUrls } from '../../vulndb/feeds/feeds.ts'
import type { ImportResult } from '../../vulndb/store/import.ts'
import type { Meta, SourceFacts } from '../../vulndb/store/generation-meta.ts'
import { answerOf } from '../../work/answer.ts'
import { FEEDS, type FeedsRun } from '../../vulndb/feeds/feeds.ts'
import { IMPORT, type ImportRequest } from './work.ts'
import { DATA_FORM, type engines } from './contract.ts'
import type { EngineDeps } from './deps.ts'
import { feedsStatus, grypeStatus } from './status.ts'

const DAY_MS = 86_400_000

/** How far one engine covers each distribution; one that cannot say it for all reports none. */
async function coverageOf(scanner: VulnerabilityScanner, distributions: readonly Distribution[]) {
  const { covers } = scanner
  if (covers === undefined) return []
  return Promise.all(
    distributions.map(async distribution => {
      const { codename, label } = distribution
      try {
        const { coverage, said, data_at: at } = await covers(distribution)
        return { distribution: codename as string, label, coverage: coverage as string, said, data_at: at ?? null }
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error
        return {
          distribution: codename as string,
          label,
          coverage: 'failed',
          said: doesNotAnswer(scanner.id, error),
          data_at: null,
        }
      }
    }),
  )
}

/** How far one engine covers the packages of each language; none where it does not say it, or cannot. */
async function languagesOf({ languages }: VulnerabilityScanner) {
  try {
    const all = (await languages?.()) ?? []
    return all.map(({ ecosystem, coverage, said, data_at: at }) => ({
      ecosystem,
      coverage: coverage as string,
      said,
      data_at: at ?? null,
    }))
  } catch (error) {
    if (error instanceof EngineUnavailable) return []
    throw error
  }
}

async function engineOf(
  scanner: AntivirusScanner | VulnerabilityScanner,
  { clock, distributions }: Pick<EngineDeps, 'clock'> & { readonly distributions: readonly Distribution[] },
) {
  const now = clock.now()
  const { id, ok, version, error, ...status } = await scanner.status()
  const at = status.data_at ?? status.signatures_at
  return {
    id,
    kind: scanner.kind,
    ok,
    version: version ?? null,
    data_version: status.data_version ?? status.signatures_version ?? null,
    data_at: at ?? null,
    age_days: at === undefined ? null : Math.max(0, Math.floor((now.getTime() - new Date(at).getTime()) / DAY_MS)),
    ...(error === undefined ? {} : { error }),
    distributions: scanner.kind === 'vulnerability' ? await coverageOf(scanner, distributions) : [],
    languages: scanner.kind === 'vulnerability' ? await languagesOf(scanner) : [],
  }
}

const printSource = (
  name: string,
  { kind, as_of: asOf, imported_at: importedAt, records, rows, skipped }: SourceFacts,
) => ({
  name,
  kind,
  as_of: asOf,
  imported_at: importedAt,
  records,
  rows,
  skipped: { ...skipped } as Record<string, number>,
})

function printResult({ status, generation, took_ms: took, signature, sources, notes }: ImportResult) {
  return {
    status,
    generation,
    took_ms: Math.round(took),
    signature,
    records: sources.reduce((sum, { records }) => sum + records, 0),
    rows: sources.reduce((sum, { rows }) => sum + rows, 0),
    sources: sources.map(({ name, ...facts }) => printSource(name, facts)),
    notes: [...notes],
  }
}

/** Addresses of advisories that are for a hidden distribution only. */
function hiddenFeeds(updateinfoUrls: string, viewer: Viewer): (url: string) => boolean {
  const feeds = readUpdateinfoUrls(updateinfoUrls)
  const seen = new Set(feeds.filter(({ codename }) => maySee(viewer, codename)).map(({ url }) => url))
  const hidden = new Set(feeds.map(({ url }) => url).filter(url => !seen.has(url)))
  return url => hidden.has(url)
}

/** What Health says of vulnerabilities, too. */
async function warningOf(
  { scanners, settings, clock }: Pick<EngineDeps, 'scanners' | 'settings' | 'clock'>,
  intel: Meta['intel'] | undefined,
  meanwhile: string,
): Promise<string | null> {
  const { validation, cve_policy } = settings.now()
  const { grype_scan: isOn, vuln_data_max_age_days: maxAgeDays } = validation
  if (!isOn) return switchedOff('vulnerability scan')
  const statuses = await Promise.all(scanners.vulnerability.map(scanner => scanner.status()))
  const said = dataWarning(statuses, { maxAgeDays, now: clock.now() })
  const without = (['epss', 'kev'] as const).filter(name => intel?.[name] === undefined)
  const catalogues = cve_policy.auto_enrich
    ? missingCataloguesWarning(without, { ...cve_policy, ...validation })
    : undefined
  const all = [
    ...(said === undefined ? [] : [`${said} ${meanwhile}`]),
    ...(catalogues === undefined ? [] : [catalogues]),
  ]
  return all.length === 0 ? null : all.join(' ')
}

const MB = 1_024 * 1_024

/** Files lie here while they are imported: out of the folder for uploads, which a start empties. */
const waiting = (security: string, name: string): string => join(security, 'waiting', name)

/** Imports a file that waits: one that was cut short goes on from it. */
async function importing(
  { jobs }: Pick<EngineDeps, 'jobs'>,
  file: Pick<ImportRequest, 'path' | 'label' | 'sha256' | 'force'> & { readonly codename: string | undefined },
  { who, raw }: { readonly who: { readonly name: string }; readonly raw: RawRequest },
) {
  const { codename, ...rest } = file
  const distribution = codename === undefined ? {} : { distribution: codename }
  const request: ImportRequest = { ...rest, ...distribution, ip: raw.clientIp }
  const order = { kind: IMPORT, request: { ...request }, by: who.name, requestId: raw.requestId }
  return printResult(await answerOf<ImportResult>(jobs, order, raw.signal))
}

const isYes = (text: string | undefined): boolean => text === 'true' || text === '1' || text === 'on'

export const engineHandlers: Handlers<typeof engines, EngineDeps> = {
  'GET /security/engines': async (deps, { viewer }) => {
    const { scanners, database, importer, settings, security, clock } = deps
    const distributions = deps.repositories.seenBy(viewer).trees.all()
    const meta = (await database.open().catch(() => undefined))?.meta
    const { running, since, last } = importer.state()
    const meanwhile = whileUnavailable(settings.now().validation, settings.now().validation.grype_scan)
    const isHidden = hiddenFeeds(settings.now().security.feeds.updateinfo_urls, viewer)
    return {
      engines: await Promise.all(
        [...scanners.vulnerability, ...scanners.antivirus].map(scanner => engineOf(scanner, { clock, distributions })),
      ),
      max_age_days: settings.now().validation.vuln_data_max_age_days,
      when_unavailable: meanwhile,
      warning: await warningOf(deps, meta?.intel, meanwhile.said),
      database: {
        generation: meta?.generation ?? null,
        created: meta?.created ?? null,
        signature: meta?.bundle?.signature ?? null,
        ecosystems: Object.entries(meta?.ecosystems ?? {}).map(([name, { rows, sources }]) => ({
          name,
          rows,
          sources: Object.fromEntries(Object.entries(sources).map(([source, share]) => [source, share.rows])),
        })),
        sources: Object.entries(meta?.sources ?? {}).map(([name, facts]) => printSource(name, facts)),
      },
      intel: { epss: meta?.intel.epss ?? null, kev: meta?.intel.kev ?? null },
      feeds: Object.entries(await loadFeedStates(security))
        .filter(([url]) => !isHidden(url))
        .map(([url, { source, checked_at: at, error }]) => ({
          url,
          source,
          checked_at: at,
          ...(error === undefined ? {} : { error }),
        })),
      import: { running, since: since ?? null, last: last ?? null },
    }
  },
  'GET /security/grype/status': deps => grypeStatus(deps),
  'GET /security/feeds/status': deps => feedsStatus(deps),
  'POST /security/database': async (deps, { query, raw, who, viewer }) => {
    const { spool, settings, security, repositories } = deps
    const { file, fields } = await readBody(raw, {
      spool,
      limitBytes: settings.now().security.max_database_mb * MB,
      setting: 'security.max_database_mb',
      filename: query.filename,
      known: Object.keys(DATA_FORM.properties),
    })
    try {
      const codename = fields.get('distribution')?.trim() || query.distribution
      if (codename !== undefined) repositories.seenBy(viewer).get(codename)
      const { sha256 } = file.blob
      const path = waiting(security, `${sha256}-${raw.requestId}`)
      await mkdir(dirname(path), { recursive: true })
      await rename(file.path, path)
      const force = query.force === true || isYes(fields.get('force'))
      return await importing(deps, { path, label: file.filename, sha256, force, codename }, { who, raw })
    } finally {
      await file.discard()
    }
  },
  'POST /security/database/medium': async (deps, { body, raw, who, viewer }) => {
    const { settings, security, repositories, mediaFolder } = deps
    const { force = false, distribution: codename, ...which } = body
    if (codename !== undefined) repositories.seenBy(viewer).get(codename)
    const found = await findOnMedium(mediaFolder, which)
    const limitMb = settings.now().security.max_database_mb
    if (found.size > limitMb * MB)
      throw new AppError('upload_too_large', {
        limit_mb: limitMb,
        remedy: 'An admin can raise security.max_database_mb.',
      })
    const path = waiting(security, `medium-${raw.requestId}`)
    const sha256 = await copyFromMedium(found, path, raw.signal)
    try {
      return await importing(deps, { path, label: found.name, sha256, force, codename }, { who, raw })
    } catch (error) {
      // the job removes it, unless it never began
      if (isRefusal(error)) await rm(path, { force: true })
      throw error
    }
  },
  'POST /security/database/fetch': async ({ jobs }, { who, raw }) => {
    const order = { kind: FEEDS, request: { ip: raw.clientIp }, by: who.name, requestId: raw.requestId }
    const { asked, fetched, failed } = await answerOf<FeedsRun>(jobs, order, raw.signal)
    return { asked, fetched, failed: [...failed] }
  },
}
