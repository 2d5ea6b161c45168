import { createHash } from 'node:crypto'

/**
 * A program on the person's own computer that waits for the browser on 127.0.0.1 (RFC 8252, 7.3). Whoever holds the
 * code alone has nothing: it is exchanged by who knows what the challenge is the SHA-256 of (RFC 7636).
 */
export interface Waiting {
  readonly port: number
  readonly challenge: string
  /** Tells the program that the browser it sent came back. */
  readonly state: string
}

/** Undefined for a browser, which has a cookie instead; so is a program that says only half. */
export function waitingOf(query: Partial<Waiting>): Waiting | undefined {
  const { port, challenge, state } = query
  return port === undefined || challenge === undefined || state === undefined ? undefined : { port, challenge, state }
}

/** What stands for the browser in the steps of a login of a program. */
export const programOf = (challenge: string): string => `program ${challenge}`

export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

/** Where the browser is sent at the end. 127.0.0.1 and not a name: nobody can answer for it (RFC 8252, 8.3). */
export const backTo = ({ port, state }: Waiting, query: Readonly<Record<string, string>>): string =>
  `http://127.0.0.1:${port}/back?${new URLSearchParams({ ...query, state }).toString()}`
