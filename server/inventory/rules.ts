import type { Queryable } from '../db/db.ts'
import { DEFAULT_RULES, type Rules } from './compliance.ts'

/** The rules that machines are held to. */
export async function readRules(db: Queryable): Promise<Rules> {
  const row = await db.first<{ rules: Rules }>('select rules from inventory_rules')
  return row === undefined ? DEFAULT_RULES : { ...DEFAULT_RULES, ...row.rules }
}

export async function writeRules(db: Queryable, rules: Rules): Promise<void> {
  await db.query(
    'insert into inventory_rules (rules) values ($1::jsonb) on conflict (one) do update set rules = excluded.rules',
    [JSON.stringify(rules)],
  )
}

/** The names of the rules that are asked. */
export function askedOf(rules: Rules): readonly string[] {
  const days = Object.entries(rules.finding_days).flatMap(([severity, n]) =>
    n === null ? [] : [`finding_${severity}`],
  )
  const more = (['supported_release', 'no_reboot_pending', 'seen_within_days', 'update_days'] as const).filter(
    name => rules[name] !== null && rules[name] !== false,
  )
  return [...days, ...more]
}
