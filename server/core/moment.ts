import { fail } from './errors.ts'

/**
 * A day becomes its first or its last millisecond, a moment is brought to UTC. @throws bad_request for a day that does
 * not exist
 */
export function moment(field: 'from' | 'to', text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const whole =
    text.length === 10
      ? `${text}T${field === 'from' ? '00:00:00.000' : '23:59:59.999'}Z`
      : /(?:Z|[+-]\d\d:\d\d)$/.test(text)
        ? text
        : `${text}Z`
  const date = new Date(whole)
  // 2026-02-30 would silently become March
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  const isReal =
    !Number.isNaN(date.getTime()) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10))
  return isReal
    ? date.toISOString()
    : fail('bad_request', {
        said: `${field} is ${text}, which is no day or time. Write it as 2026-03-01 or 2026-03-01T12:00:00Z.`,
      })
}
