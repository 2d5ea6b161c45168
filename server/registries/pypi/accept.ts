/** The forms of the simple pages, the one that is sent in doubt first. Source: PEP 691 */
export const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'
export const HTML_TYPE = 'application/vnd.pypi.simple.v1+html'
const PLAIN_HTML = 'text/html'
const FORMS: Readonly<Record<string, string>> = {
  'application/vnd.pypi.simple.v1+json': JSON_TYPE,
  'application/vnd.pypi.simple.latest+json': JSON_TYPE,
  'application/vnd.pypi.simple.v1+html': HTML_TYPE,
  'application/vnd.pypi.simple.latest+html': HTML_TYPE,
  'text/html': PLAIN_HTML,
  'text/*': PLAIN_HTML,
  'application/*': JSON_TYPE,
  '*/*': PLAIN_HTML,
}

/**
 * Which form an Accept header asks for: the one of the highest quality, of equal ones the first. HTML without a header.
 * @returns undefined where it takes none of them
 * Source: PEP 691, "Version + Format Selection"; RFC 9110, 12.5.1
 */
export function chooseForm(accept: string | undefined): string | undefined {
  if (accept === undefined || accept.trim() === '') return PLAIN_HTML
  let best: { readonly type: string; readonly quality: number } | undefined
  for (const part of accept.slice(0, 2000).split(',')) {
    const [name = '', ...parameters] = part.split(';').map(one => one.trim().toLowerCase())
    const type = Object.hasOwn(FORMS, name) ? FORMS[name] : undefined
    const said = parameters.map(one => /^q=([01](?:\.\d{0,3})?)$/.exec(one)?.[1]).find(one => one !== undefined)
    const quality = said === undefined ? 1 : Number(said)
    if (type !== undefined && quality > (best?.quality ?? 0)) best = { type, quality }
  }
  return best?.type
}
