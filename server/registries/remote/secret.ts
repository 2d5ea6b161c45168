import type { SecretBox } from '../../lib/secret-box.ts'

/**
 * A credential is for the server that it was given for. It is sealed with the name of that server: while a change of
 * the address goes from one process to the next, none of them sends the new secret to the old server.
 */
interface Kept {
  /** `https://registry.example` */
  readonly origin: string
  readonly secret: string
}

/** @param url  of the upstream that the secret is for */
export const sealSecret = (box: Pick<SecretBox, 'seal'>, url: string, secret: string): string =>
  box.seal(JSON.stringify({ origin: new URL(url).origin, secret } satisfies Kept))

/**
 * The secret, where it was given for this server.
 * @throws Error that names the cause, never the value, where the key is another one
 */
export function openSecret(box: Pick<SecretBox, 'open'>, url: string, sealed: string): string | undefined {
  const { origin, secret } = parsed(box.open(sealed).toString('utf8'))
  return origin === new URL(url).origin ? secret : undefined
}

function parsed(text: string): Kept {
  try {
    return JSON.parse(text) as Kept
  } catch {
    // what JSON.parse says has a piece of the text in it
    throw new Error('it was not kept by this release')
  }
}
