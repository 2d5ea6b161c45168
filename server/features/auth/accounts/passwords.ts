import bcrypt from 'bcrypt'
import { createHash, randomBytes } from 'node:crypto'
import { fail } from '../../../core/errors.ts'

const COST = 12
// bcrypt reads 72 bytes; longer passwords are refused rather than cut
const LONGEST_BYTES = 72

/** Why a password is not accepted, or undefined (the specification, "User"). */
export function weaknessOf(password: string): string | undefined {
  if (password.length < 8) return 'it needs at least 8 characters'
  if (!/\p{Lu}/u.test(password)) return 'it needs an upper-case letter'
  if (!/[^\p{L}]/u.test(password)) return 'it needs a digit or a special character'
  if (Buffer.byteLength(password) > LONGEST_BYTES) return `it may have at most ${LONGEST_BYTES} bytes`
  if (password.includes('\u0000')) return 'it may not contain a zero character'
  return undefined
}

let running = 0
const waiting: (() => void)[] = []

/** Hashing uses one of the four threads that disk access also needs: a wave of logins must not stop downloads. */
async function atMost<T>(most: number, work: () => Promise<T>): Promise<T> {
  if (running >= most)
    await new Promise<void>(resolve => {
      waiting.push(resolve)
    })
  else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
}

/** @throws weak_password */
export async function hashPassword(password: string, field = 'password'): Promise<string> {
  const why = weaknessOf(password)
  if (why !== undefined) fail('weak_password', { why, field })
  return atMost(2, () => bcrypt.hash(password, COST))
}

let nobody: Promise<string> | undefined

/** Takes the same time whether the account exists or not: without a hash it compares with one that nothing matches. */
export async function checkPassword(password: string, hash: string | undefined): Promise<boolean> {
  nobody ??= atMost(2, () => bcrypt.hash(randomBytes(16).toString('hex'), COST))
  // htpasswd and PHP write $2y$ for what this library calls $2b$
  const against = hash?.replace(/^\$2y\$/, '$2b$') ?? (await nobody)
  const matches = await atMost(2, () => bcrypt.compare(password, against))
  return matches && hash !== undefined && Buffer.byteLength(password) <= LONGEST_BYTES
}

/** API tokens are random, so one fast hash is enough. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
