import { createHash, randomBytes } from 'node:crypto'

const FORM = /^ghm_[A-Za-z0-9_-]{43}$/

/** A fresh token of a machine that reports itself. */
export const makeAgentToken = (): string => `ghm_${randomBytes(32).toString('base64url')}`

/** What is kept of a token; undefined for a text that is none. */
export function hashAgentToken(token: string): string | undefined {
  return FORM.test(token) ? createHash('sha256').update(token).digest('hex') : undefined
}
