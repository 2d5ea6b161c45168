import type { HeuristicFunc } from 'wuchale'

/** Attributes that hold names and numbers, never a text to read. */
export const TECHNICAL = new Set(
  (
    'accept aria-busy aria-controls aria-current aria-describedby aria-haspopup aria-hidden aria-labelledby aria-live ' +
    'autocapitalize autocomplete class d download for height href icon id inputmode kind list max maxlength min name ' +
    'popover preserveAspectRatio r rel role rows rx scope size spellcheck src style tabindex target text text-anchor ' +
    'tone transform type value viewBox width x y'
  ).split(' '),
)
/** Attributes whose words are read, small ones too. */
export const READ = new Set(
  'alt aria-label busy data-label hint label note placeholder say title verb word working'.split(' '),
)
/** The same for properties of objects. */
export const READ_PROPERTIES = new Set('busy hint label placeholder say title verb word working'.split(' '))
/** Properties that tell one thing from another, and are never shown. */
export const NAMES_OF = new Set(['id', 'key', 'icon', 'tone'])
/** What these are given is compared or looked up. */
const LOOKS = /(^|\.)(includes|startsWith|endsWith|indexOf|closest|matches|matchMedia|querySelector(All)?|get|has|set)$/
/** Keys of the keyboard and names of errors: compared, never shown. */
const NAMES = new Set([
  'ApiProblem',
  'AbortError',
  'Arrow',
  'ArrowDown',
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'Enter',
  'Escape',
])
/** Routes of the contract and values of headers. */
const ROUTE = /^((GET|POST|PUT|PATCH|DELETE) \/|Bearer )/
/** Class names and selectors, several in a row. */
const CLASSES = /^(btn|n c-|spin|sm|danger|bare|warn-c|primary|ctrl|a, |\.|\[|input:|\(min-)/
const FIELD = /^[A-Z]\w*(-\w+)+$/

/** `is running`, `# of #`: small letters, but more than one word. */
const isPhrase = (text: string): boolean => /\s/.test(text) && /\p{Ll}{2}/u.test(text) && !CLASSES.test(text)
/** `Search`, `CVE scan`: not `SHA-256` and not `X-Request-Id`. */
const isSentence = (text: string): boolean =>
  /^\p{Lu}/u.test(text) && /\p{Ll}/u.test(text) && !NAMES.has(text) && !FIELD.test(text)

/**
 * Decides what of the console's source is a text. What is rendered is: markup, `{…}` in it, attributes and properties
 * such as `label`. Elsewhere in scripts it is what begins with a capital or has several words; a single small word is
 * none there, unless it stands in `phrase('…')`.
 */
export const isText: HeuristicFunc = ({ msgStr, details }) => {
  const said = msgStr.join('\n').trim()
  if (['code', 'pre', 'script', 'style'].includes(details.element ?? '')) return false
  if (!/\p{L}{2}/u.test(said) || ROUTE.test(msgStr.join('\n'))) return false
  if (details.scope === 'markup') return 'message'
  if (TECHNICAL.has(details.attribute ?? '') || LOOKS.test(details.call ?? '')) return false
  const isRendered = 'rendered' in details && details.rendered === true
  const isRead = isRendered || (details.scope === 'attribute' && READ.has(details.attribute ?? ''))
  return (isRead && /\p{Ll}/u.test(said)) || isSentence(said) || isPhrase(said) ? 'message' : false
}

/** What a script or a file does, behind its name: `runs what it downloads`. */
const isFact = (file: string, said: string): boolean =>
  file.endsWith('install-facts.ts') && /^[a-z]+ .*[A-Za-z)]$/.test(said)

/** What a kind of package is called: `RPM package (.rpm)`. What else a format says is for programs. */
const isLabel = (said: string): boolean => / package \(\.\w+\)$/.test(said)

/** How a part of the machine does, behind its name: `does not run`; and a way out, `journalctl says why.` */
const isState = (said: string, call = ''): boolean =>
  !/(^is|run|must|log|ask|asPostgres)$/.test(call) &&
  !/^(systemctl \S+( --now)? \S+$|mount |kernel |a chain |apt-get \S+ \S+$|passwd --lock #$)/.test(said) &&
  (/^[a-z]+,? [a-zA-Z\d ,.:;'%#{}()/-]+$/.test(said) || /^[a-z]\S* .* .*\.$/.test(said))

/** A sentence of the server: two words at least, the first with a capital or a placeholder. */
export const isServerSentence: HeuristicFunc = ({ msgStr, details }) => {
  const said = msgStr.join('\n')
  if (isFact(details.file, said)) return 'message'
  if (details.file.includes('server/formats/')) return isLabel(said) ? 'message' : false
  if (/(appliance|server)\/machine\//.test(details.file) && isState(said, details.call)) return 'message'
  return /^([\p{Lu}\d{#]|[a-z]+_[a-z]+ )/u.test(said) &&
    /\p{Ll}{2,} [\p{L}{#]/u.test(said) &&
    !/[\n\\]|\bSELECT\b/.test(said)
    ? 'message'
    : false
}
