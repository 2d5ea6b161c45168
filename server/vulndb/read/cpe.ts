/** The parts of a CPE 2.3 name that are needed here. `*` is any, `-` is none. */
export interface Cpe {
  readonly part: string
  /** `vendor:product` */
  readonly pair: string
  readonly version: string
  readonly update: string
  /** Which edition of the software: `enterprise`, `lts`. */
  readonly edition: string
  /** What it runs in: `windows`, `node.js`. */
  readonly target: string
}

/**
 * Reads `cpe:2.3:a:openssl:openssl:1.0.2:beta1:*:*:*:*:*:*`; undefined for anything else.
 * Source: NIST IR 7695, 6.2 "Formatted string binding"
 */
export function readCpe(text: unknown): Cpe | undefined {
  if (typeof text !== 'string' || text.length > 1_000 || !text.startsWith('cpe:2.3:')) return undefined
  const parts = text.split(/(?<!\\):/).map(part => part.replace(/\\(.)/g, '$1').toLowerCase())
  if (parts.length !== 13) return undefined
  const [, , part = '', vendor = '', product = '', version = '', update = '', , , edition = '', target = ''] = parts
  return { part, pair: `${vendor}:${product}`, version, update, edition, target }
}
