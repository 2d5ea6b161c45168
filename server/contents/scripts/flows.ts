import type { Command } from './command.ts'
import type { Plain } from './plain-command.ts'

/** What comes out of a command. */
export interface Flow {
  /** It comes from a host. */
  readonly downloaded: boolean
  /** It was decoded: base64, hex. */
  readonly decoded: boolean
  /** As far as it is plain text. */
  readonly text?: string
}

export const NO_FLOW: Flow = { downloaded: false, decoded: false }

/** What flows together. */
export const joinFlows = (flows: readonly Flow[]): Flow => ({
  downloaded: flows.some(({ downloaded }) => downloaded),
  decoded: flows.some(({ decoded }) => decoded),
})

const DOWNLOADERS: ReadonlySet<string> = new Set([
  'curl',
  'wget',
  'wget2',
  'fetch',
  'aria2c',
  'axel',
  'lwp-download',
  'lwp-request',
  'GET',
  'lynx',
  'links',
  'w3m',
  'http',
  'https',
  'xh',
  'ftp',
  'tftp',
  'lftp',
  'curlftpget',
])
const NO_TRANSFER = /^(?:-V|--version|-h|--help|--manual)$/
const FETCHED_BY_LANGUAGE =
  /urlopen|urlretrieve|urllib|requests\.(?:get|post)|http\.client|LWP|HTTP::Tiny|Net::HTTP|open-uri|https?\.get|file_get_contents\(['"]https?:|socket\.http|fetch\(/

/** Languages whose programs stand behind `-c`, `-e` or `-r`. */
export const LANGUAGES = /^(?:python[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|php[\d.]*|lua[\d.]*|tclsh[\d.]*)$/

/** Whether a command gets something from a host. @param own  functions of the script that do */
export const isDownload = ({ name, texts }: Pick<Plain, 'name' | 'texts'>, own: ReadonlySet<string>): boolean =>
  own.has(name) ||
  (DOWNLOADERS.has(name) && texts.length > 0 && !texts.some(text => NO_TRANSFER.test(text))) ||
  (name === 'openssl' && texts[0] === 's_client') ||
  (LANGUAGES.test(name) && texts.some(text => FETCHED_BY_LANGUAGE.test(text))) ||
  (name === 'git' && ['clone', 'fetch', 'pull'].includes(texts[0] ?? '')) ||
  (name === 'svn' && ['checkout', 'co', 'export'].includes(texts[0] ?? ''))

const SENDING: Readonly<Record<string, RegExp>> = {
  curl: /^(?:-[a-zA-Z]*[dFT]|--data(?:-\w+)?|--form(?:-\w+)?|--json|--upload-file)(?:=|$)/,
  wget: /^--(?:post|body)-(?:data|file)(?:=|$)/,
  lftp: /\bput\b/,
}

/** Whether it sends something there. */
export const isSending = ({ name, texts }: Pick<Plain, 'name' | 'texts'>): boolean =>
  Object.hasOwn(SENDING, name) && texts.some(text => SENDING[name]?.test(text))

const DECODERS: Readonly<Record<string, RegExp>> = {
  base64: /(?:^| )(?:-[a-z]*[dD]|--decode)(?: |$)/,
  base32: /(?:^| )(?:-d|--decode)(?: |$)/,
  basenc: /(?:^| )(?:-d|--decode)(?: |$)/,
  openssl: /^(?:enc|base64|aes\S*) .*-(?:d|a)(?: |$)/,
  xxd: /(?:^| )-[a-z]*r/,
  uudecode: /^/,
  rev: /^/,
}

export const isDecoder = ({ name, texts }: Pick<Plain, 'name' | 'texts'>): boolean =>
  Object.hasOwn(DECODERS, name) && DECODERS[name]?.test(texts.join(' ')) === true

/** The files that a download is kept in. */
export function savedBy({ name, texts }: Pick<Plain, 'name' | 'texts'>): string[] {
  return texts.flatMap((text, n) => {
    const next = texts[n + 1]
    if (name === 'curl' && /^-[a-zA-Z]*o$|^--output$/.test(text) && next !== undefined) return [next]
    if (name.startsWith('wget') && /^-[a-zA-Z]*O$|^--output-document$/.test(text) && next !== undefined && next !== '-')
      return [next]
    const joined = /^--output(?:-document)?=(.+)$|^-O(?!-$)([^-].*)$/.exec(text)
    if (joined !== null && /^(?:curl|wget2?|aria2c)$/.test(name)) return [joined[1] ?? joined[2] ?? '']
    // under the name that the address has
    const base = /^\w+:\/\/\S*\/([^/?#\s]+)/.exec(text)?.[1]
    if (base === undefined) return []
    return name.startsWith('wget') || texts.some(one => /^-[a-zA-Z]*O$|^--remote-name$/.test(one))
      ? [base, `./${base}`]
      : []
  })
}

/** The files that a command writes to: redirections, and programs that name them. */
export function writtenBy({ redirects }: Pick<Command, 'redirects'>, { name, texts }: Plain): string[] {
  const direct = redirects.filter(({ op }) => /^&?>[>|]?$/.test(op)).map(({ target }) => target.text)
  const plain = texts.filter(text => !text.startsWith('-'))
  const last = plain.at(-1)
  switch (name) {
    case 'tee':
    case 'sponge':
    case 'truncate':
      return [...direct, ...plain]
    case 'cp':
    case 'mv':
    case 'ln':
    case 'install':
    case 'rsync': {
      const into = texts.flatMap((text, n) =>
        text === '-t' ? [texts[n + 1] ?? ''] : text.startsWith('--target-directory=') ? [text.slice(19)] : [],
      )
      if (name === 'install' && texts.some(text => /^-[a-zA-Z]*d/.test(text))) return direct
      const targets = into.length > 0 ? into : plain.length > 1 && last !== undefined ? [last] : []
      // into a folder: under the names that they have
      return [
        ...direct,
        ...targets.flatMap(target =>
          target.endsWith('/') || into.length > 0
            ? plain
                .filter(one => one !== target)
                .map(one => `${target.replace(/\/$/, '')}/${one.slice(one.lastIndexOf('/') + 1)}`)
            : [target],
        ),
      ]
    }
    case 'sed':
    case 'perl':
      return texts.some(text => /^-[a-zA-Z]*i|^--in-place/.test(text)) ? [...direct, ...plain.slice(-1)] : direct
    case 'dd':
      return [...direct, ...texts.filter(text => text.startsWith('of=')).map(text => text.slice(3))]
    default:
      return direct
  }
}
