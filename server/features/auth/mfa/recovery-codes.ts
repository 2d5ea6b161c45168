import { createHash } from 'node:crypto'
import type { Queryable, Tx } from '../../../db/db.ts'

/** Codes in a set. */
const RECOVERY_CODES = 8
const GROUPS = 4
const GROUP = 4
// Crockford's base 32: no i, l, o or u, which are misread from paper
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'

/** 80 bits each, so that a fast hash is enough: `k3vq-9x2m-7d0h-tw5e`. */
export function makeRecoveryCodes(random: (bytes: number) => Buffer): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    // 256 is a multiple of 32: no letter is likelier
    const letters = [...random(GROUPS * GROUP)].map(byte => LETTERS.charAt(byte % LETTERS.length))
    return Array.from({ length: GROUPS }, (_, n) => letters.slice(n * GROUP, (n + 1) * GROUP).join('')).join('-')
  })
}

/** As it is typed from paper: case, spaces and dashes do not matter, `o` is 0, `i` and `l` are 1. */
function hashCode(username: string, code: string): string {
  const plain = code.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
  return createHash('sha256').update(`${username}\0${plain}`).digest('hex')
}

/** Every older code of the account stops working. */
export async function replaceRecoveryCodes(tx: Tx, username: string, codes: readonly string[]): Promise<void> {
  await tx.query('delete from recovery_code where username = $1', [username])
  await tx.query('insert into recovery_code (username, hash) select $1, unnest($2::text[])', [
    username,
    codes.map(code => hashCode(username, code)),
  ])
}

/** Uses one up. @returns whether it was one; of two at once with the same code, one gets true */
export async function useRecoveryCode(tx: Tx, username: string, code: string): Promise<boolean> {
  return (
    (await tx.first('delete from recovery_code where username = $1 and hash = $2 returning 1', [
      username,
      hashCode(username, code),
    ])) !== undefined
  )
}

export async function countRecoveryCodes(db: Queryable, username: string): Promise<number> {
  return (
    (await db.first<{ n: number }>('select count(*) as n from recovery_code where username = $1', [username]))?.n ?? 0
  )
}
