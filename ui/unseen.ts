import { UNSEEN } from '../server/core/unseen.ts'

/** In an answer that is still JSON: an escape, or a character that nobody sees and that may turn text round. */
const PARTS = new RegExp(/* @wc-ignore */ `\\\\(?:u[0-9a-fA-F]{4}|.)|[${UNSEEN}]`, 'g')
const ONE = new RegExp(/* @wc-ignore */ `^[${UNSEEN}]$`)
const LINES = '\t\n\r'

/**
 * An answer of the server, so that what stands in it is what is read: characters without a shape become `\u202e`. It
 * takes the text before it is parsed, so that no screen can forget it.
 */
export function seen(json: string): string {
  return json.replace(PARTS, part => {
    if (part.startsWith('\\') && !part.startsWith('\\u') && part !== '\\b' && part !== '\\f') return part
    const char = part.length === 1 ? part : (JSON.parse(`"${part}"`) as string)
    if (LINES.includes(char) || !ONE.test(char)) return part
    return `\\\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
