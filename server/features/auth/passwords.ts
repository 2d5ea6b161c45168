import bcrypt from 'bcrypt'
import { createHash, randomBytes } from 'node:crypto'
import { fail } from '../../core/errors.ts'

const COST = 12
// bcrypt reads 72 bytes; longer passwords are refused rather than cut
const LONGEST_BYTES = 72

/** What keeps a password from being accepted, or undefined (the specification, "User"). */
export function weaknessOf(password: string): string | undefined {
  if (password.length < 8) return 'it needs at least 8 characters'
  if (!/\p{Lu}/u.test(password)) return 'it needs an upper-case letter'
  if (!/[^\p{L}]/u.test(password)) return 'it needs a digit or a special character'
  if (Buffer.byteLength(password) > LONGEST_BYTES) return `it may have at most ${LONGEST_BYTES} bytes`
  if (password.includes('\u0000')) return 'it may not contain a zero character'
  return undefined
}

/** @throws weak_password */
export async function hashPassword(password: string, field = 'password'): Promise<string> {
  const why = weaknessOf(password)
  if (why !== undefined) fail('weak_password', { why, field })
  return bcrypt.hash(password, COST)
}

let nobody: Promise<string> | undefined

/** Compares in the same time whether the account exists or not: without a hash, against one that nothing matches. */
export async function checkPassword(password: string, hash: string | undefined): Promise<boolean> {
  nobody ??= bcrypt.hash(randomBytes(16).toString('hex'), COST)
  const matches = await bcrypt.compare(password, hash ?? await nobody)
  return matches && hash !== undefined
}

/** API tokens are random, so one fast hash is enough. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
