import { expect, test } from 'vitest'
import { ERRORS } from './errors.ts'

test.each(Object.entries(ERRORS).filter(([code]) => code !== 'internal'))(
  '%s is told in sentences that are right in the console and for a script',
  (_, [status, message]) => {
    expect(message).toMatch(/[.}]$/)
    // a person in the console has pages, no routes and no query strings
    expect(message).not.toMatch(/\b(GET|POST|PUT|PATCH|DELETE) \/|\/api\/v1|\?\w+=|npm run/)
    expect(status).toBeGreaterThanOrEqual(400)
  },
)
