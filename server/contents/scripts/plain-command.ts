import type { Command, Word } from './command.ts'

/** What a script has set so far, as far as it is plain text. */
export interface Variables {
  readonly values: Map<string, string>
}

const PARAMETER = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?[-=]([^}]{0,500}))?\})/g
const MAX_TEXT = 20_000

/** Puts in what is known of the parameters of a text; the others stay. */
export const expand = (text: string, { values }: Variables): string =>
  text.includes('$')
    ? text
        .replace(PARAMETER, (whole, plain?: string, braced?: string, otherwise?: string) => {
          return values.get(plain ?? braced ?? '') ?? otherwise ?? whole
        })
        .slice(0, MAX_TEXT)
    : text

const ASSIGNMENT = /^([A-Za-z_]\w*)\+?=/

/** The name that a word sets, and what to. */
export function assignmentOf({ text, inner }: Word): { name: string; value: Word } | undefined {
  const found = ASSIGNMENT.exec(text)
  return found === null ? undefined : { name: found[1] ?? '', value: { text: text.slice(found[0].length), inner } }
}

/** A command without what only runs it: `sudo -u x env A=b curl …` is `curl …`. */
export interface Plain {
  /** Without its folder; empty where there are only assignments. */
  readonly name: string
  /** As it is written. */
  readonly path: string
  readonly args: readonly Word[]
  /** The same as text, with known parameters put in. */
  readonly texts: readonly string[]
  readonly assignments: readonly { readonly name: string; readonly value: Word }[]
}

/** Programs that run the program after them, with those of their options that take a value. */
const RUNNERS: Readonly<Record<string, RegExp>> = {
  sudo: /^-[ugpCchrtTDR]$|^--(?:user|group)$/,
  doas: /^-[uC]$/,
  env: /^-[uCS]$/,
  exec: /^-a$/,
  command: /^(?!)/,
  builtin: /^(?!)/,
  nohup: /^(?!)/,
  setsid: /^(?!)/,
  nice: /^-n$/,
  ionice: /^-[cnp]$/,
  stdbuf: /^-[ioe]$/,
  time: /^-[fo]$/,
  timeout: /^-[ks]$/,
  xargs: /^-[IniLPsdEa]$/,
  runuser: /^-[ugG]$/,
  setpriv: /^--(?:reuid|regid|groups)$/,
  busybox: /^(?!)/,
  chroot: /^(?!)/,
  unshare: /^(?!)/,
}
/** Those with a word of their own before the program. */
const WITH_ARGUMENT: ReadonlySet<string> = new Set(['timeout', 'chroot'])

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** `command -v curl` and `sudo -l` run nothing. */
const ASKS = /^-[vVl]$/

/** The program that a command runs in the end. */
export function plainOf({ words }: Pick<Command, 'words'>, variables: Variables): Plain {
  const assignments: Plain['assignments'][number][] = []
  let at = 0
  const skipAssignments = (): void => {
    for (; at < words.length; at++) {
      const word = words[at]
      const one = word === undefined ? undefined : assignmentOf(word)
      if (one === undefined) return
      assignments.push(one)
    }
  }
  skipAssignments()
  const texts = words.map(({ text }) => expand(text, variables))
  for (let turns = 0; turns < 10; turns++) {
    const name = baseOf(texts[at] ?? '')
    const valued = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined
    if (valued === undefined || at + 1 >= words.length || ASKS.test(texts[at + 1] ?? '')) break
    at++
    while (/^-./.test(texts[at] ?? '')) at += valued.test(texts[at] ?? '') ? 2 : 1
    if (WITH_ARGUMENT.has(name)) at++
    skipAssignments()
  }
  // a variable that holds a command and its options
  const head = (texts[at] ?? '').split(/\s+/).filter(text => text !== '')
  const path = head[0] ?? ''
  return {
    name: baseOf(path),
    path,
    args: words.slice(at + 1),
    texts: [...head.slice(1), ...texts.slice(at + 1)],
    assignments,
  }
}
