import type { InstallFactKind } from '../../core/install-facts.ts'
import type { Command, Word } from './command.ts'
import { kindOfCommand } from './command-kinds.ts'
import {
  isDecoder,
  isDownload,
  isSending,
  joinFlows,
  LANGUAGES,
  NO_FLOW,
  savedBy,
  writtenBy,
  type Flow,
} from './flows.ts'
import { hostsIn, hostsOfArguments } from './hosts.ts'
import { expand, plainOf, type Plain, type Variables } from './plain-command.ts'
import { parseShell } from './shell.ts'
import { unescapeText } from './shell-words.ts'
import { kindOfDeleted, kindOfWritten } from './written-paths.ts'

/** A fact without its script. */
export interface Sighting {
  readonly kind: InstallFactKind
  readonly line: number
  readonly text: string
  readonly hosts?: readonly string[]
}

const SHELLS = /^(?:sh|bash|dash|ash|ksh|mksh|zsh|\$SHELL|\$\{SHELL[^}]*\})$/
/** How deep texts that are run as scripts may hold further ones. */
const MAX_TEXTS = 8
const MAX_FLOW_TEXT = 200_000
/** Of all such texts of one script together. */
const MAX_TEXTS_LENGTH = 2_000_000

/** Of a program behind `-c` of another language. */
const FETCHES_AND_RUNS = [
  /urlopen|urlretrieve|requests\.|LWP|HTTP::|https?\.get|fetch\(/,
  /\b(?:exec|eval|system|popen|subprocess)\b/,
]

/** Programs that make others' files run, or install them. */
const READIES: Readonly<Record<string, RegExp>> = {
  chmod: /^(?:[ugoa]*\+[rwst]*x|0?[0-7]?[1357][0-7]{2})/,
  dpkg: /^(?:-i|--install|--unpack)$/,
  rpm: /^-[a-z]*[iU]/,
}

interface State extends Variables {
  /** Functions that download, variables and files that hold what was downloaded or decoded. */
  readonly downloaders: Set<string>
  readonly held: Map<string, Flow>
  readonly flows: Map<Command, Flow>
  /** What groups of commands put out together. */
  readonly joined: Map<readonly Command[], Flow>
  /** How many characters of texts may still be read as scripts. */
  readonly budget: { left: number }
  readonly seen: (one: Sighting) => void
  readonly depth: number
}

const textOf = ({ source, start, end }: Command): string => source.slice(start, Math.min(end, start + 2_000))

/** Flows as one, with their texts. */
function together(flows: readonly Flow[]): Flow {
  const text = flows.flatMap(flow => flow.text ?? []).join('\n')
  return { ...joinFlows(flows), ...(text === '' || text.length > MAX_FLOW_TEXT ? {} : { text }) }
}

/** What is piped into a command: the same for all commands of a group, so it is put together once. */
function pipedInto({ from }: Command, { joined, flows }: State): Flow {
  if (from.length === 0) return NO_FLOW
  const known = joined.get(from) ?? together(from.map(one => flows.get(one) ?? NO_FLOW))
  joined.set(from, known)
  return known
}

/** What the command reads. */
function inputOf(command: Command, state: State): Flow {
  const { redirects } = command
  const piped = pipedInto(command, state)
  if (redirects.length === 0) return piped
  const bodies = redirects.flatMap(({ body, op, target }): Flow[] => {
    if (body !== undefined) return [{ ...flowOf([target], state), text: expand(body.text, state) }]
    return op === '<' ? [state.held.get(expand(target.text, state)) ?? flowOf([target], state)] : []
  })
  return together([piped, ...bodies])
}

/** What words substitute, and the variables and files in them that hold something. */
function flowOf(words: readonly Word[], { held, flows }: State): Flow {
  return joinFlows(
    words.flatMap(({ text, inner }) => [
      ...inner.map(one => flows.get(one) ?? NO_FLOW),
      ...(held.size === 0
        ? []
        : [text, ...[...text.matchAll(/\$\{?(\w+)/g)].map(found => `$${found[1]}`)].map(
            one => held.get(one) ?? NO_FLOW,
          )),
    ]),
  )
}

/** What a command puts out. */
function outputOf(command: Command, plain: Plain, input: Flow, state: State): Flow {
  const { name, texts } = plain
  if (isDownload(plain, state.downloaders)) {
    const isSaved = savedBy(plain).length > 0 && !texts.includes('-')
    return isSaved && !texts.some(text => /^-[a-zA-Z]*O-/.test(text)) ? NO_FLOW : { downloaded: true, decoded: false }
  }
  if (isDecoder(plain)) return { ...joinFlows([input, flowOf(plain.args, state)]), decoded: true }
  if (name === 'echo' || name === 'printf') {
    const joined = texts.filter(text => !/^-[neE]+$/.test(text)).join(' ')
    const text = unescapeText(name === 'printf' ? joined.replace(/^%[sb](?:\\n)? /, '') : joined)
    const isHidden = /(?:\\x[0-9a-fA-F]{2}|\\0?[0-7]{3}){4}/.test(joined)
    return { ...flowOf(command.words, state), ...(isHidden ? { decoded: true } : {}), text }
  }
  const named = flowOf(plain.args, state)
  const all = joinFlows([input, named])
  return { ...all, ...(input.text !== undefined && name === 'cat' ? { text: input.text } : {}) }
}

/** The script that `-c` gives to a shell, or a program to another language; undefined where its input is run. */
function codeOf({ name, args, texts }: Plain): { readonly word: Word; readonly text: string } | 'input' | 'file' {
  const flag =
    SHELLS.test(name) || name === 'su' || name === 'runuser' ? /^-[a-zA-Z]*c$|^--command$/ : /^-[a-zA-Z]*[cer]$/
  const skew = texts.length - args.length
  const at = texts.findIndex(text => flag.test(text))
  if (at >= 0 && texts[at + 1] !== undefined)
    return { word: args[at + 1 - skew] ?? { text: '', inner: [] }, text: texts[at + 1] ?? '' }
  const first = texts.findIndex(text => !/^-(?!$)/.test(text))
  const isInput =
    first < 0 || ['-', '/dev/stdin'].includes(texts[first] ?? '') || texts.some(text => /^-[a-zA-Z]*s$/.test(text))
  return isInput && args.every(({ inner }) => inner.length === 0) ? 'input' : 'file'
}

/** The kinds of what is run: what was downloaded, or decoded; text is read as a script of its own. */
function runs(flow: Flow, command: Command, state: State): InstallFactKind[] {
  const { text } = flow
  if (text !== undefined && text !== '' && state.depth < MAX_TEXTS) readText(text, command.line, state)
  return flow.downloaded ? ['downloads_and_runs'] : flow.decoded ? ['runs_encoded'] : []
}

/** What the command runs that is not its own program. */
function executed(command: Command, plain: Plain, input: Flow, state: State): InstallFactKind[] {
  const { name, path, args, texts } = plain
  if (name === 'eval' || name === 'trap')
    return runs({ ...flowOf(args, state), text: name === 'trap' ? (texts[0] ?? '') : texts.join(' ') }, command, state)
  if (name === '.' || name === 'source')
    return runs(joinFlows([flowOf(args.slice(0, 1), state), input]), command, state)
  const isShell = SHELLS.test(name)
  if (isShell || LANGUAGES.test(name) || name === 'su') {
    const code = codeOf(plain)
    if (code === 'input') return runs(isShell || name === 'su' ? input : joinFlows([input]), command, state)
    if (code === 'file') return runs(flowOf(args, state), command, state)
    const flow = flowOf([code.word], state)
    if (!isShell && FETCHES_AND_RUNS.every(pattern => pattern.test(code.text))) return ['downloads_and_runs']
    return runs(isShell || name === 'su' ? { ...flow, text: code.text } : flow, command, state)
  }
  if (name === 'find') {
    const at = texts.findIndex(text => /^-(?:exec|execdir|ok)$/.test(text))
    if (at >= 0)
      readText(
        texts
          .slice(at + 1)
          .map(text => `'${text.replaceAll("'", '')}'`)
          .join(' '),
        command.line,
        state,
      )
  }
  const [first] = command.words
  if (first?.text === '' && first.inner.length > 0) return runs({ ...flowOf([first], state) }, command, state)
  const held = state.held.get(path)
  if (held !== undefined && path !== '') return runs({ ...held }, command, state)
  const makesRunnable = Object.hasOwn(READIES, name) && texts.some(text => READIES[name]?.test(text))
  return makesRunnable ? runs(joinFlows(texts.map(text => state.held.get(text) ?? NO_FLOW)), command, state) : []
}

/** Remembers what variables and files hold from here on. */
function remember(command: Command, plain: Plain, output: Flow, state: State): void {
  const put = (key: string, flow: Flow): void => {
    if ((flow.downloaded || flow.decoded) && key !== '' && state.held.size < 10_000) state.held.set(key, flow)
  }
  for (const { name, value } of plain.assignments) {
    put(`$${name}`, flowOf([value], state))
    if (value.inner.length === 0 && value.text.length < 2_000 && state.values.size < 10_000)
      state.values.set(name, expand(value.text, state))
  }
  if (isDownload(plain, state.downloaders))
    for (const path of savedBy(plain)) put(path, { downloaded: true, decoded: false })
  for (const path of writtenBy(command, plain)) {
    put(expand(path, state), output)
    put(path, output)
  }
  if (plain.name === 'read') for (const name of plain.texts) put(`$${name}`, inputOf(command, state))
}

function reads(command: Command, state: State): void {
  for (const { inner } of command.words) for (const one of inner) follow(one, state)
  for (const { target } of command.redirects) for (const one of target.inner) follow(one, state)
}

/** What a command does beside running code: what it calls, what it writes and deletes. */
/** `find /etc -delete`; where it asks for a name, some files go and the folder stays. */
function deletesAll(name: string, texts: readonly string[]): boolean {
  if (name !== 'find' || !texts.includes('-delete') || kindOfDeleted(texts[0] ?? '') !== 'deletes_outside') return false
  if (texts.some(text => ['!', '-not', '-o', '-or', ','].includes(text))) return true
  return !texts.some(
    (text, at) => /^-i?(?:name|path|wholename|regex)$/.test(text) && /[^*.?]/.test(texts[at + 1] ?? ''),
  )
}

function done(command: Command, plain: Plain, state: State): InstallFactKind[] {
  const { name, texts, assignments } = plain
  const words = [...command.words, ...command.redirects.map(({ target }) => target)].map(({ text }) => text)
  const called = kindOfCommand(name, texts)
  const isRemoval = name === 'rm' && texts.some(text => /^-[a-zA-Z]*[rR]|^--recursive$/.test(text))
  const exported = name === 'export' ? texts : []
  const preloads = [...assignments.map(one => `${one.name}=${one.value.text}`), ...exported].some(one =>
    /^LD_(?:PRELOAD|AUDIT)=./.test(one),
  )
  return [
    ...(called === undefined ? [] : [called]),
    ...writtenBy(command, plain).flatMap(path => kindOfWritten(expand(path, state)) ?? []),
    ...(isRemoval ? texts.flatMap(text => kindOfDeleted(text) ?? []) : []),
    ...(preloads ? (['changes_preload'] as const) : []),
    ...(words.some(text => /\/dev\/(?:tcp|udp)\/|\/inet\/(?:tcp|udp)\//.test(text))
      ? (['opens_connection'] as const)
      : []),
    ...(deletesAll(name, texts) ? (['deletes_outside'] as const) : []),
    ...(isSending(plain) ? (['sends_data'] as const) : []),
  ]
}

/** What a cron job or a service is told to do contacts hosts, too. */
const WRITTEN: ReadonlySet<InstallFactKind> = new Set([
  'changes_cron',
  'writes_unit',
  'changes_package_sources',
  'changes_shell_profile',
  'changes_resolution',
])

function follow(command: Command, state: State): void {
  reads(command, state)
  const plain = plainOf(command, state)
  const input = inputOf(command, state)
  const output = outputOf(command, plain, input, state)
  state.flows.set(command, output)
  const downloads = isDownload(plain, state.downloaders)
  const kinds = new Set([...executed(command, plain, input, state), ...done(command, plain, state)])
  if (downloads && !kinds.has('sends_data')) kinds.add('downloads')
  if (kinds.has('downloads_and_runs')) kinds.delete('downloads')
  const text = textOf(command)
  for (const kind of kinds) {
    const isAbout = downloads || kind === 'opens_connection' || kind === 'sends_data'
    const hosts = isAbout
      ? hostsOfArguments([...plain.texts, ...command.redirects.map(({ target }) => expand(target.text, state))])
      : kind === 'downloads_and_runs' || kind === 'installs_packages' || WRITTEN.has(kind)
        ? hostsIn([expand(text, state), input.text ?? '', ...plain.texts].join('\n'))
        : []
    state.seen({ kind, line: command.line, text, ...(hosts.length === 0 ? {} : { hosts }) })
  }
  remember(command, plain, output, state)
}

/** Functions that get something from a host: who calls them, does. */
function downloadersOf(functions: ReadonlyMap<string, readonly Command[]>, state: State): void {
  // a function may call another that stands before it
  for (const [name, commands] of functions)
    if (commands.some(one => isDownload(plainOf(one, state), state.downloaders))) state.downloaders.add(name)
}

/** Reads text as a script that stands at a line of the one around it. */
function readText(text: string, line: number, state: State): void {
  state.budget.left -= text.length
  if (state.budget.left < 0) return
  const { commands, functions } = parseShell(text.slice(0, MAX_FLOW_TEXT), 1, 0)
  const inner: State = { ...state, depth: state.depth + 1, seen: one => state.seen({ ...one, line }) }
  downloadersOf(functions, inner)
  for (const command of commands) follow(command, inner)
}

/**
 * What a shell script does, as far as its text says so. Nothing is run.
 * @returns also why the rest of it is not known, in one sentence
 */
export function shellFacts(text: string, seen: (one: Sighting) => void): string | undefined {
  const { commands, functions, cut } = parseShell(text)
  const state: State = {
    values: new Map(),
    downloaders: new Set(),
    held: new Map(),
    flows: new Map(),
    joined: new Map(),
    budget: { left: MAX_TEXTS_LENGTH },
    seen,
    depth: 0,
  }
  downloadersOf(functions, state)
  for (const command of commands) follow(command, state)
  return cut ?? (state.budget.left < 0 ? 'It makes too much text that it runs.' : undefined)
}
