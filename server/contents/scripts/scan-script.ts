import { createHash } from 'node:crypto'
import type { InstallFact, InstallScript } from '../../core/install-facts.ts'
import { isLanguage, languageFacts } from './languages.ts'
import { shellFacts, type Sighting } from './shell-facts.ts'

/** The most bytes of a script that are read. The largest of Debian 12's have 60 kB. */
export const MAX_SCRIPT_BYTES = 4 * 2 ** 20
/** The most facts of one script, and the most characters of a line that is shown. */
const MAX_FACTS = 200
const MAX_TEXT = 240

const SHELLS = /^(?:sh|bash|dash|ash|ksh|mksh|zsh|yash|posh|busybox)$/
/** Programs that packages name as the interpreter of a script without text, as rpm allows. Source: rpm-scriptlets(5) */
const HARMLESS =
  /^(?:ldconfig|true|glib-compile-schemas|gtk-update-icon-cache|update-desktop-database|systemd-sysusers|systemd-tmpfiles|fc-cache|install-info|depmod|build-locale-archive|glibc_post_upgrade\.\w+|busctl)$/

// control characters, and those that turn the direction of text
// eslint-disable-next-line no-control-regex -- these are what is made visible
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** One line without control characters, cut to 240 characters. */
export function showLine(text: string): string {
  const line = text
    .slice(0, MAX_TEXT * 8)
    .replace(/(?:\\\n|[\t\n\r ])+/g, ' ')
    .trim()
    .replace(UNSEEN, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1)}…` : line
}

/** A script as it lies in a package. */
export interface RawScript {
  readonly name: string
  readonly bytes: Buffer
  readonly size: number
  /** Where the format keeps it beside the script, as rpm does. */
  readonly interpreter?: string | undefined
}

/** What reading a script says. */
export interface ScannedScript {
  readonly script: InstallScript
  readonly facts: readonly InstallFact[]
  /** How many facts there are beyond those. */
  readonly more: number
}

/** `/usr/bin/env -S bash -e` → `/usr/bin/env -S bash -e`, and `bash`. Source: execve(2), "Interpreter scripts" */
function interpreterOf({ bytes, interpreter }: Pick<RawScript, 'bytes' | 'interpreter'>): {
  readonly shown: string
  readonly name: string
} {
  const first = bytes.toString('latin1', 0, 256).split(/\r?\n/, 1)[0] ?? ''
  const shown = interpreter ?? (first.startsWith('#!') ? first.slice(2).trim() : '')
  const words = shown.split(/\s+/)
  const program = /(?:^|\/)env$/.test(words[0] ?? '') ? words.slice(1).find(word => !/^-|=/.test(word)) : words[0]
  return { shown: showLine(shown), name: (program ?? '').slice((program ?? '').lastIndexOf('/') + 1) }
}

const isBinary = (bytes: Buffer): boolean => {
  const head = bytes.subarray(0, 4).toString('latin1')
  return head === '\x7fELF' || head.startsWith('MZ') || (!head.startsWith('#!') && bytes.subarray(0, 512).includes(0))
}

function read(raw: RawScript, name: string, seen: (one: Sighting) => void): string | undefined {
  const text = raw.bytes.toString('utf8').replaceAll('\0', '').replaceAll('\r\n', '\n')
  const isLong = raw.size > raw.bytes.length
  const said = isLong ? `Only the first ${raw.bytes.length} of its ${raw.size} bytes were read.` : undefined
  const hidden = raw.bytes.includes(0) ? 'It holds NUL bytes, which shells read in different ways.' : undefined
  if (name === '' || SHELLS.test(name)) return shellFacts(text, seen) ?? said ?? hidden
  if (isLanguage(name)) {
    languageFacts(text, name, seen)
    return said ?? hidden
  }
  // what is known to be said in any language
  languageFacts(text, 'python', seen)
  return `Nothing here knows scripts of ${showLine(name)}.`
}

/** A download that is run in the same line is one fact, with the hosts of both. */
function merged(facts: readonly InstallFact[]): InstallFact[] {
  const downloads = Map.groupBy(
    facts.filter(({ kind }) => kind === 'downloads'),
    ({ line }) => line,
  )
  const run = new Set(facts.filter(({ kind }) => kind === 'downloads_and_runs').map(({ line }) => line))
  return facts.flatMap(fact => {
    if (fact.kind === 'downloads' && run.has(fact.line)) return []
    if (fact.kind !== 'downloads_and_runs') return [fact]
    const hosts = [...(fact.hosts ?? []), ...(downloads.get(fact.line) ?? []).flatMap(one => one.hosts ?? [])]
    return [hosts.length === 0 ? fact : { ...fact, hosts: [...new Set(hosts)].sort() }]
  })
}

/** Reads a script, whatever it is written in. What cannot be read is a fact of its own. */
export function scanScript(raw: RawScript): ScannedScript {
  const { name: path, bytes, size } = raw
  const { shown, name } = interpreterOf(raw)
  const facts: InstallFact[] = []
  const keys = new Set<string>()
  let more = 0
  const seen = ({ kind, line, text, hosts }: Sighting): void => {
    const fact: InstallFact = { kind, path, line, text: showLine(text), ...(hosts === undefined ? {} : { hosts }) }
    const key = `${kind} ${line} ${fact.text}`
    if (keys.has(key)) return
    if (facts.length >= MAX_FACTS) {
      more++
      return
    }
    keys.add(key)
    facts.push(fact)
  }
  let unread: string | undefined
  if (size === 0)
    unread =
      HARMLESS.test(name) || name === '' || SHELLS.test(name) || isLanguage(name)
        ? undefined
        : `It runs the program ${shown}.`
  else if (isBinary(bytes)) unread = `It is a program and no script (${size} bytes).`
  else unread = read(raw, name, seen)
  const lines = size === 0 ? 0 : bytes.toString('latin1').split('\n').length - (bytes.at(-1) === 10 ? 1 : 0)
  const first: readonly InstallFact[] = unread === undefined ? [] : [{ kind: 'unreadable_script', path, text: unread }]
  return {
    script: {
      name: path,
      interpreter: shown === '' ? '/bin/sh' : shown,
      lines,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    },
    facts: [...first, ...merged(facts)],
    more,
  }
}
