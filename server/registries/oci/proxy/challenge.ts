/** How a server wants to be asked. */
export type Challenge =
  | { readonly kind: 'basic' }
  /** A token is got at `realm`. */
  | { readonly kind: 'bearer'; readonly realm: string; readonly service?: string; readonly scope?: string }

const PARAMETER = /[\s,]*([a-z][a-z0-9_-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/iy

/** The parameters at the begin of a text, up to the next scheme. */
function parametersIn(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  PARAMETER.lastIndex = 0
  for (let next = PARAMETER.exec(text); next !== null; next = PARAMETER.exec(text)) {
    const [, key = '', quoted, plain = ''] = next
    found.set(key.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain)
  }
  return found
}

/**
 * What a header `WWW-Authenticate` asks for; a token before a password. Undefined: nothing that is known here.
 * Source: RFC 9110, 11.6.1; distribution, "Token Authentication Specification".
 */
export function readChallenge(header: string): Challenge | undefined {
  const bearer = /(?:^|,)\s*bearer\s+(.*)$/is.exec(header)
  if (bearer !== null) {
    const parameters = parametersIn(bearer[1] ?? '')
    const realm = parameters.get('realm')
    const [service, scope] = [parameters.get('service'), parameters.get('scope')]
    if (realm !== undefined)
      return {
        ...{ kind: 'bearer', realm },
        ...(service === undefined ? {} : { service }),
        ...(scope === undefined ? {} : { scope }),
      }
  }
  return /(?:^|,)\s*basic(?:\s|,|$)/i.test(header) ? { kind: 'basic' } : undefined
}
