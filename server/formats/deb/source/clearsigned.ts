import { malformed, quote } from '../../../lib/limited.ts'

const BEGIN = '-----BEGIN PGP SIGNED MESSAGE-----'
const SIGNATURE = '-----BEGIN PGP SIGNATURE-----'
const END = '-----END PGP SIGNATURE-----'
/** `Hash: SHA512`: the only header that the format knows. Source: RFC 9580, 7. */
const HEADER = /^Hash: [A-Za-z0-9, -]{1,100}$/

/** A control file, and the signed document around it, if any. */
export interface Unwrapped {
  /** The signed lines, which are all that is read. */
  readonly text: Buffer
  /** The whole document, for the check of the signature; absent when the file is not signed. */
  readonly document?: string
}

/** The signed lines without dash escaping. */
function signedLines(lines: readonly string[], what: string): readonly string[] {
  const blank = lines.indexOf('', 1)
  if (blank === -1) malformed(`${what} is signed, and no blank line follows the header`)
  const odd = lines.slice(1, blank).find(line => !HEADER.test(line))
  if (odd !== undefined) malformed(`${what} is signed with the header ${quote(odd)}; only Hash is known`)
  const end = lines.indexOf(SIGNATURE)
  if (end === -1) malformed(`${what} begins a signed text, and no signature follows`)
  return lines.slice(blank + 1, end).map(line => {
    if (!line.startsWith('-')) return line
    if (!line.startsWith('- '))
      malformed(`${what} holds the line ${quote(line)} in its signed text; RFC 9580 writes "- " before it`)
    return line.slice(2)
  })
}

/**
 * Takes a control file out of its clear signature. Refuses any text outside the signed part, which would otherwise pass
 * for signed.
 * @param what its name in messages: `the .dsc`
 * @throws Malformed
 * Source: RFC 9580, 7.
 */
export function unwrap(bytes: Buffer, what: string): Unwrapped {
  const document = bytes.toString('utf8').replaceAll('\r\n', '\n')
  if (!document.includes('-----BEGIN PGP')) return { text: bytes }
  const lines = document.replace(/\n+$/, '').split('\n')
  if (lines[0] !== BEGIN) malformed(`${what} holds a signature and does not begin with ${quote(BEGIN)}`)
  if (lines.at(-1) !== END) malformed(`${what} goes on behind its signature, or the signature is cut off`)
  for (const mark of [BEGIN, SIGNATURE, END])
    if (lines.filter(line => line === mark).length > 1) malformed(`${what} has the line ${quote(mark)} twice`)
  const signed = signedLines(lines, what)
  return { text: Buffer.from(`${signed.join('\n').replace(/\n+$/, '')}\n`), document: `${lines.join('\n')}\n` }
}
