import { generateSecret, generateURI, verifySync } from 'otplib/functional'
import { toBuffer } from 'qrcode'

/** Seconds that one code is shown. */
const STEP_SECONDS = 30
const ISSUER = 'Gatehouse'

/** What an authenticator app is set up with. */
export interface NewSecret {
  /** Base32, 160 random bits. */
  readonly secret: string
  /** `otpauth://totp/…` */
  readonly uri: string
  /** The same as a QR code: a PNG. */
  readonly qrCode: Buffer
}

/** A new secret for this account, in the forms that apps read. */
export async function makeSecret(username: string): Promise<NewSecret> {
  const secret = generateSecret()
  const uri = generateURI({ issuer: ISSUER, label: username, secret })
  return { secret, uri, qrCode: await toBuffer(uri, { errorCorrectionLevel: 'M', margin: 2, scale: 5 }) }
}

/**
 * Compares a code in constant time with those of this step, the one before and the next: half a minute of drift either
 * way.
 * @param code  six digits
 * @returns the number of the step it belongs to, or undefined. Keeping it from being used twice is the caller's part.
 * Source: RFC 6238, 4 and 5.2
 */
export function stepOfCode(secret: string, code: string, now: Date): number | undefined {
  const result = verifySync({
    secret,
    token: code,
    epoch: Math.floor(now.getTime() / 1000),
    epochTolerance: STEP_SECONDS,
  })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}
