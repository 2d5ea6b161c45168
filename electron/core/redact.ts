/** What must not stand in a log: credentials, tokens of links, words of secrets. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 …'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '…'],
  [
    /\b((?:setup_?|access_?|mfa_?|api_?)?token|password|secret|code|totp_code|recovery_code)(["']?\s*[=:]\s*["']?)[^\s&"',}]+/gi,
    '$1$2…',
  ],
  [/\b(gh[a-z]*_)[\w-]{8,}/g, '$1…'],
]

/** A line without secrets and without control characters. */
export function redact(text: string): string {
  const line = text.replace(/[\r\n]+/g, ' ').replace(/\p{Cc}/gu, '')
  return SECRETS.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), line).slice(0, 2000)
}
