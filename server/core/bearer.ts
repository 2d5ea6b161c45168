import { isSameSecret } from '../lib/same-secret.ts'
import { fail } from './errors.ts'

/**
 * Refuses a header that does not carry this token as `Bearer`. Compared in constant time.
 * @throws not_authenticated, bad_credential
 */
export function needBearer(expected: string, authorization: string | undefined): void {
  const sent = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (sent === undefined) fail('not_authenticated', {})
  if (!isSameSecret(sent, expected)) fail('bad_credential', {})
}
