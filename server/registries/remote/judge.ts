import { createHash } from 'node:crypto'
import { isMalicious, type Finding } from '../../core/findings.ts'
import { judgeRecord, licenceRecord } from '../../core/licences/policy.ts'
import { policyOf, uploadAction } from '../../core/policy.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Matcher } from '../../scanners/matcher.ts'
import type { Settings } from '../../settings/store.ts'
import { printFindings, WAITS_AS_LOOKALIKE } from '../held.ts'
import type { Lookalikes } from '../owned.ts'
import type { Flights } from './flights.ts'
import {
  findName,
  listRemote,
  readLocalMark,
  saveVerdicts,
  type NameRow,
  type RemoteRow,
  type Verdict,
} from '../../catalog/queries/remote-versions.ts'

/** Says of each version of a name whether clients get it from the index. */
export interface Judge {
  /**
   * Judges the versions of a name anew where something changed: the upstream's index, the vulnerability data, the
   * policy, the rules of the registry, a waiver.
   * @returns what the visible versions follow from, as one short text; with it, until when that holds
   */
  settle(registry: Distribution, name: string, known: NameRow): Promise<string>
}

export interface JudgeDeps {
  readonly db: Db
  readonly matcher: Pick<Matcher, 'match' | 'coverage' | 'generation'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  readonly flights: Pick<Flights, 'join'>
  readonly lookalikes: Lookalikes
}

const DAY_MS = 86_400_000
/** So many are looked up before others get their turn. */
const AT_ONCE = 200

const dayOf = (at: Date): string => at.toISOString().slice(0, 10)
const hashOf = (value: unknown): string => createHash('md5').update(JSON.stringify(value)).digest('hex')

type Rules = NonNullable<Distribution['registry']>

/** Why a version is too young, and until when; null: for as long as its upstream names no date. */
export interface Young {
  readonly said: string
  readonly ripe_at: Date | null
}

/** `2026-12-05 06:23 UTC` */
const printMinute = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Whether a version is too young, with the sentence for people; undefined where it is old enough by its rules. */
export function youth(
  { published_at: published, seen_at: seen }: Pick<RemoteRow, 'published_at' | 'seen_at'>,
  { minAgeDays = 0, ageFrom = 'upstream' }: Rules,
): Young | undefined {
  if (minAgeDays === 0) return undefined
  const days = minAgeDays === 1 ? '1 day' : `${minAgeDays} days`
  const from = ageFrom === 'upstream' ? published : seen
  if (from === null)
    return { said: `Its upstream names no date for it, so it counts as younger than ${days}.`, ripe_at: null }
  const ripe = new Date(from.getTime() + minAgeDays * DAY_MS)
  const since = ageFrom === 'upstream' ? `published on ${dayOf(from)}` : `first seen on ${dayOf(from)}`
  return { said: `It is younger than ${days}: ${since}, let through from ${printMinute(ripe)} on.`, ripe_at: ripe }
}

export function createJudge({ db, matcher, settings, clock, flights, lookalikes }: JudgeDeps): Judge {
  async function findingsOf(registry: Distribution, name: string, rows: readonly RemoteRow[]) {
    const all: (readonly Finding[])[] = []
    const { coverage } = await matcher.coverage(registry)
    // nothing is known: the gate says so of what is asked for
    if (coverage === 'no_data' || coverage === 'not_covered') return rows.map(() => [])
    for (let from = 0; from < rows.length; from += AT_ONCE) {
      const some = rows.slice(from, from + AT_ONCE)
      const packages = some.map(({ version, arch }) => ({ name, version, arch, source: '', sourceVersion: '' }))
      all.push(...(await matcher.match(registry, packages)))
      await new Promise(setImmediate)
    }
    return all
  }

  return {
    async settle(registry, name, known) {
      const { codename, format, registry: rules = { kind: 'proxy' } } = registry
      const key = { codename, name }
      const { validation, cve_policy, script_policy, license_policy } = settings.now()
      const policy = policyOf({ cve_policy, validation, script_policy, license_policy })
      const isScanned = validation.grype_scan
      const isAlike = rules.holdLookalikes === true && (await lookalikes.of(format))(name) !== undefined
      const { packages, waivers } = await readLocalMark(db, key, { format, now: clock.now() })
      const mark = hashOf([
        known.revision,
        isScanned ? [await matcher.generation(), policy] : 'not scanned',
        license_policy,
        [rules.minAgeDays, rules.ageFrom, ...(isAlike ? ['looks alike'] : [])],
        waivers.map(({ version }) => version),
      ])
      if (known.judged_for !== mark)
        await flights.join(`judge ${codename} ${name} ${mark}`, async () => {
          // somebody may just have done it
          if ((await findName(db, key))?.judged_for === mark) return
          const rows = await listRemote(db, key, { format })
          const findings = isScanned ? await findingsOf(registry, name, rows) : []
          const waived = new Set(waivers.map(({ version }) => version))
          const verdicts = rows.map((row, at) => verdictOf(row, findings[at] ?? [], waived.has(row.version)))
          await saveVerdicts(db, key, { revision: known.revision, mark, verdicts })
        })
      return hashOf([mark, packages])

      function verdictOf(row: RemoteRow, found: readonly Finding[], isWaived: boolean): Verdict {
        const { version, arch } = row
        const free: Verdict = { version, arch, hidden: null, said: null, ripe_at: null }
        const bad = found.filter(isMalicious)
        if (bad.length > 0) return { ...free, hidden: 'malicious', said: `It is malicious: ${printFindings(bad)}` }
        if (isWaived) return free
        const action = uploadAction({ findings: found }, policy)
        if (action === 'block')
          return { ...free, hidden: 'blocked', said: `The policy blocks it: ${printFindings(found)}` }
        if (action === 'review')
          return { ...free, hidden: 'review', said: `The policy asks for a review: ${printFindings(found)}` }
        const { action: ofLicence, said } = judgeRecord(
          row.license === null ? undefined : licenceRecord(row.license, true),
          policy.licences,
        )
        if (said !== undefined && (ofLicence === 'block' || ofLicence === 'review'))
          return { ...free, hidden: 'license', said }
        if (isAlike) return { ...free, hidden: 'lookalike', said: WAITS_AS_LOOKALIKE }
        const young = youth(row, rules)
        return young === undefined ? free : { ...free, hidden: 'young', ...young }
      }
    },
  }
}
