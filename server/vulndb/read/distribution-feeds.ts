import { jsonMembers } from '../../lib/json-members.ts'
import { cveOf, cvesIn, type Advisory, type Sink } from '../advisory.ts'
import { debianRelease } from '../match/ecosystems.ts'
import type { Orders } from '../versions/orders.ts'
import { severityOf } from '../match/severity.ts'
import { fieldsOf } from '../../lib/fields.ts'

/** What a feed without dates brought: its statements, and the year of its newest CVE (0 for none). */
export interface UndatedResult {
  readonly records: number
  readonly year: number
}

const yearOf = (id: string): number => Number(/^CVE-(\d{4})-/.exec(id)?.[1] ?? 0)

export interface FeedContext {
  readonly source: string
  readonly orders: Orders
  readonly sink: Sink
  /** Later dates say nothing. ISO 8601. */
  readonly now?: string
}

const MOST_SUMMARY = 300
const MEMBER_BYTES = 64 * 1024 * 1024

/** Why Debian has no update for an open issue, where it says so: postponed, ignored, or out of support. */
function sayNoDsa({ nodsa, reason, urgency }: Readonly<Record<'nodsa' | 'reason' | 'urgency', unknown>>): {
  readonly said?: string
} {
  if (urgency === 'end-of-life') return { said: 'Debian: the package is out of support in this release.' }
  if (typeof nodsa !== 'string') return {}
  const what = typeof reason === 'string' && reason !== '' ? reason : 'no security update is planned'
  return { said: `Debian: ${what}${nodsa.trim() === '' ? '' : ` (${nodsa.trim().slice(0, MOST_SUMMARY)})`}.` }
}

/** What the release and its updates have of a source today: `repositories`, by suite. */
function shippedIn(repositories: unknown): { readonly ships?: readonly string[] } {
  const versions = Object.values(fieldsOf(repositories)).filter(version => typeof version === 'string')
  return versions.length === 0 ? {} : { ships: [...new Set(versions)] }
}

/**
 * Debian's security tracker: `package → CVE → releases → {status, repositories, fixed_version, urgency}`. It is
 * complete: a CVE resolved in version 0 was never there, and an open one has no fix. `undetermined` says neither.
 * Source: https://security-tracker.debian.org/tracker/data/json
 */
export async function readDebianTracker(
  chunks: AsyncIterable<Uint8Array>,
  { source, orders, sink }: FeedContext,
): Promise<UndatedResult> {
  let records = 0
  let year = 0
  for await (const [name, cves] of jsonMembers(chunks, { what: 'the Debian tracker', maxMemberBytes: MEMBER_BYTES })) {
    for (const [id, value] of Object.entries(fieldsOf(cves))) {
      const { description, releases } = fieldsOf(value)
      const cve = cveOf(id)
      year = Math.max(year, yearOf(id))
      const advisory: Advisory = {
        id,
        source,
        rank: 3,
        cves: cve === undefined ? [] : [cve],
        references: [`https://security-tracker.debian.org/tracker/${encodeURIComponent(id)}`],
        ...(typeof description === 'string' ? { summary: description.slice(0, MOST_SUMMARY) } : {}),
      }
      records++
      for (const [codename, release] of Object.entries(fieldsOf(releases))) {
        const ecosystem = debianRelease(codename)
        const { status, fixed_version: fixed, urgency, nodsa, nodsa_reason: reason, repositories } = fieldsOf(release)
        if (ecosystem === undefined || status === 'undetermined') {
          sink.skip('other_ecosystem')
          continue
        }
        const severity = severityOf(urgency)
        const row = {
          name,
          by: 'source' as const,
          ...(severity === undefined ? {} : { severity }),
          ...shippedIn(repositories),
        }
        if (status === 'open')
          sink.add({
            ecosystem,
            advisory,
            row: { ...row, spans: [{ from: '0' }], ...sayNoDsa({ nodsa, reason, urgency }) },
          })
        else if (status === 'resolved' && fixed === '0')
          sink.add({ ecosystem, advisory, row: { ...row, spans: [], safe: true } })
        else if (status === 'resolved' && typeof fixed === 'string' && orders.deb.isVersion(fixed))
          sink.add({ ecosystem, advisory, row: { ...row, spans: [{ from: '0', to: fixed }] } })
        else sink.skip(status === 'resolved' ? 'bad_version' : 'malformed')
      }
    }
  }
  return { records, year }
}

/**
 * Alpine's secdb: `packages[].pkg {name, secfixes {version: [ids]}}`, names of source packages. Version 0: never
 * affected. An entry may name several ids and carry remarks: `CVE-2017-2616 (+ regression fix)`.
 * Source: https://secdb.alpinelinux.org/
 */
export function readAlpineSecdb(value: unknown, { source, orders, sink }: FeedContext): UndatedResult {
  const { distroversion, packages } = fieldsOf(value)
  const release = typeof distroversion === 'string' ? /^v(\d+\.\d+)$|^(edge)/.exec(distroversion) : null
  const ecosystem = `alpine-${release?.[1] ?? 'edge'}`
  let records = 0
  let year = 0
  for (const entry of Array.isArray(packages) ? (packages as readonly unknown[]) : []) {
    const { name, secfixes } = fieldsOf(fieldsOf(entry).pkg)
    if (typeof name !== 'string') {
      sink.skip('no_package')
      continue
    }
    for (const [version, ids] of Object.entries(fieldsOf(secfixes))) {
      const isSafe = version === '0'
      const to = version.trim()
      for (const text of (Array.isArray(ids) ? (ids as readonly unknown[]) : []).filter(id => typeof id === 'string')) {
        records++
        if (!isSafe && !orders.apk.isVersion(to)) {
          sink.skip('bad_version')
          continue
        }
        const cves = cvesIn(text.replace(/\bCVE[_ ](?=\d{4}-\d)/g, 'CVE-'))
        // `CVE-????-????? XSA-295` and `CVE N/A ZBX-11023`: only the other name is usable
        const others = /\b(?!CVE-)[A-Z][A-Z0-9]*-[\w-]+/.exec(text)?.[0]
        for (const id of cves.length > 0 ? cves : others === undefined ? [] : [others]) {
          year = Math.max(year, yearOf(id))
          const advisory: Advisory = {
            id,
            source,
            rank: 3,
            cves: cveOf(id) === undefined ? [] : [id],
            references: [`https://security.alpinelinux.org/vuln/${id}`],
          }
          sink.add({
            ecosystem,
            advisory,
            row: { name, by: 'source', ...(isSafe ? { spans: [], safe: true } : { spans: [{ from: '0', to }] }) },
          })
        }
      }
    }
  }
  return { records, year }
}
