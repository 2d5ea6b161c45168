const URL_HOST =
  /\b(?:https?|ftps?|sftp|ssh|git|rsync|tcp|udp|ldaps?|wss?):\/\/(?:[^\s/@'"]{1,200}@)?(\[[0-9a-fA-F:]{2,45}\]|[A-Za-z0-9._-]{1,253})(:\d{1,5})?/g
const DEVICE = /\/dev\/(?:tcp|udp)\/([^\s/'"]{1,253})\/(\w{1,20})/g
const ADDRESS = /(?<![\w.])((?:\d{1,3}\.){3}\d{1,3})(:\d{1,5})?(?![\w.])/g
const NAME = /^(?:[^\s@/]+@)?((?:[a-z0-9-]+\.)+[a-z]{2,24})(?:(:\d{1,5})|:[^\s]*|\/[^\s]*)?$/i

const MOST = 20
// reserved for this machine: RFC 1122, 3.2.1.3
const OWN = /^(?:127\.|0\.0\.0\.0|localhost\b|\[?::1\]?)/

function unique(hosts: readonly string[]): string[] {
  const all = new Set(hosts.map(host => host.toLowerCase()).filter(host => !OWN.test(host)))
  const withPort = new Set([...all].filter(host => /[^:]:\d+$/.test(host)).map(host => host.replace(/:\d+$/, '')))
  return [...all]
    .filter(host => !withPort.has(host))
    .sort()
    .slice(0, MOST)
}

/** The hosts of the addresses in a text: `example.com`, `10.0.0.5:4444`. At most 20, without this machine itself. */
export const hostsIn = (text: string): string[] =>
  unique([
    ...[...text.matchAll(URL_HOST)].map(([, host = '', port = '']) => host + port),
    ...[...text.matchAll(DEVICE)].map(([, host = '', port = '']) => `${host}:${port}`),
    ...[...text.matchAll(ADDRESS)].map(([, host = '', port = '']) => host + port),
  ])

/** The same of the arguments of a program that contacts hosts: plain names count there, and `nc HOST PORT`. */
export function hostsOfArguments(words: readonly string[]): string[] {
  const named = words.flatMap((word, n) => {
    const found = NAME.exec(word)
    const next = words[n + 1] ?? ''
    if (found === null) return []
    return [(found[1] ?? '') + (found[2] ?? (/^\d{1,5}$/.test(next) ? `:${next}` : ''))]
  })
  return unique([...hostsIn(words.join(' ')), ...named])
}
