import type { Distribution } from '../../core/repository.ts'
import type { ChangeFact } from '../../record/audit-facts.ts'

const MOST_NAMES = 20
const NONE = '(none)'

const listed = (names: readonly string[]): string =>
  names.length > MOST_NAMES
    ? `${names.slice(0, MOST_NAMES).join(', ')} and ${names.length - MOST_NAMES} more`
    : names.join(', ')

/** The rules in words. What is sent to an upstream is no part of a definition. */
const wordsOf = ({ label, registry }: Distribution): Readonly<Record<string, string>> => ({
  'label': label,
  'kind': registry?.kind ?? 'hosted',
  'upstream.url': registry?.upstream?.url ?? '',
  'upstream.user': registry?.upstream?.user ?? '',
  'min_age_days': String(registry?.minAgeDays ?? ''),
  'age_from': registry?.ageFrom ?? '',
  'hold_lookalikes': registry?.holdLookalikes === true ? 'true' : '',
  'members': listed(registry?.members ?? []),
  'reserved': listed(registry?.reserved ?? []),
  'require_signature': registry?.requireSignature ?? '',
  'snapshots_kept': String(registry?.snapshotsKept ?? ''),
})

/** What a change changed, by the names that the API has for it; of a new registry what is set beyond its name. */
export function ruleChanges(before: Distribution | undefined, after: Distribution): readonly ChangeFact[] {
  // a new one is compared with the plainest
  const was = wordsOf(before ?? { ...after, registry: { kind: 'hosted' } })
  return Object.entries(wordsOf(after)).flatMap(([key, to]) => {
    const from = was[key] ?? ''
    return from === to ? [] : [{ key, from: from || NONE, to: to || NONE }]
  })
}

const HIDDEN = '***'

/** @param had, has  whether a secret was there before and is there now */
export const secretChange = (had: boolean, has: boolean): ChangeFact => ({
  key: 'upstream.secret',
  from: had ? HIDDEN : NONE,
  to: has ? HIDDEN : NONE,
})
