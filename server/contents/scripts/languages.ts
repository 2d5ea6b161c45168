import type { InstallFactKind } from '../../core/install-facts.ts'
import { hostsIn } from './hosts.ts'
import { shellFacts, type Sighting } from './shell-facts.ts'
import { kindOfWritten } from './written-paths.ts'

const HASH = /^\s*#.*$|(?<=\s)#[^'"]*$/
const DASHES = /^\s*--.*$|--[^'"]*$/
const SLASHES = /^\s*(?:\/\/|\*|\/\*).*$|(?<=\s)\/\/[^'"]*$/

/** What begins a comment in the languages that scripts are written in. */
const COMMENTS: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:python|perl|ruby|tclsh|awk|gawk|mawk|make|sed|guile|pwsh|bpftrace)/, HASH],
  [/^(?:lua|<lua>)/, DASHES],
  [/^(?:node|nodejs|php|gjs|deno|bun)/, SLASHES],
]

/** Whether scripts of this interpreter can be read line by line. */
export const isLanguage = (interpreter: string): boolean => COMMENTS.some(([name]) => name.test(interpreter))

const FETCHES =
  /urlopen|urlretrieve|urllib\.request|requests\.(?:get|post)|httpx?\.(?:get|client)|LWP::|HTTP::Tiny|Net::HTTP|open-uri|https?\.(?:get|request)\(|file_get_contents\(\s*['"]https?:|curl_exec|socket\.http|XMLHttpRequest/
const RUNS =
  /\b(?:exec|eval|execfile|compile)\s*[({]|\beval\b|os\.(?:system|popen|exec\w*|spawn\w*)|subprocess\.|\bsystem\b|\bpopen\b|io\.popen|os\.execute|posix\.exec|child_process|shell_exec|passthru|Kernel\.exec|`/
const DECODES =
  /b64decode|base64\.decode|decode_base64|Base64\.decode|base64_decode|from(?:hex)?\([^)]*(?:hex|base64)|unhexlify|marshal\.loads|zlib\.decompress|pack\s*\(?\s*['"]H\*/
const CONNECTS =
  /socket\.(?:socket|create_connection|connect)|IO::Socket|TCPSocket|fsockopen|net\.(?:connect|createConnection)|require\s*\(?['"]socket['"]/
const STRING = String.raw`(?:"(?:[^"\\]|\\.){0,4000}"|'(?:[^'\\]|\\.){0,4000}')`
/** The texts that such a call gives to a shell or a program. */
const CALLS = new RegExp(
  String.raw`(?:os\.system|os\.popen|subprocess\.\w+|\bsystem|\bpopen|io\.popen|os\.execute|posix\.exec|\bexec\w*|shell_exec|passthru)\s*\(?\s*\[?\s*(${STRING}(?:\s*,\s*${STRING}){0,50})|${'`'}([^${'`'}]{1,4000})${'`'}`,
  'g',
)
const STRINGS = new RegExp(STRING, 'g')
const WRITES =
  /['"],?\s*['"](?:[wa]|>>?)|\bopen\b.*['"]>|write_text|writeFile|appendFile|io\.open|file_put_contents|shutil\.(?:copy|move)|os\.(?:symlink|rename)/
const QUOTED_PATH = /['"`]\s*(?:>>?\s*)?(\/[^'"`\s]{1,500})['"`]/g
const ENVIRONMENT = /LD_PRELOAD|LD_AUDIT/
const SETUID = /chmod\b[^;]*(?:0o?[4-7][0-7]{3}|S_ISUID|u\+s)/

/** The shell commands that a line of another language runs. */
const shellTexts = (line: string): string[] =>
  [...line.matchAll(CALLS)].map(([, strings = '', back]) => {
    if (back !== undefined) return back
    return [...strings.matchAll(STRINGS)].map(([text]) => text.slice(1, -1).replace(/\\(['"\\])/g, '$1')).join(' ')
  })

/** What one line says. */
function kindsOf(line: string, runs: boolean): Set<InstallFactKind> {
  const kinds = new Set<InstallFactKind>()
  if (FETCHES.test(line)) kinds.add(runs ? 'downloads_and_runs' : 'downloads')
  if (DECODES.test(line) && RUNS.test(line)) kinds.add('runs_encoded')
  if (CONNECTS.test(line)) kinds.add('opens_connection')
  if (ENVIRONMENT.test(line)) kinds.add('changes_preload')
  if (SETUID.test(line)) kinds.add('sets_privileges')
  if (WRITES.test(line))
    for (const [, path = ''] of line.matchAll(QUOTED_PATH)) {
      const kind = kindOfWritten(path)
      if (kind !== undefined) kinds.add(kind)
    }
  return kinds
}

/**
 * What a script in another language than the shell does: by lines, since nobody takes it apart. What it downloads
 * counts as run where it also runs something.
 */
export function languageFacts(text: string, interpreter: string, seen: (one: Sighting) => void): void {
  const comment = COMMENTS.find(([name]) => name.test(interpreter))?.[1] ?? HASH
  const lines = text.split('\n').map(line => line.slice(0, 10_000).replace(comment, ''))
  const runs = lines.some(line => RUNS.test(line))
  for (const [n, line] of lines.entries()) {
    if (line.trim() === '') continue
    for (const kind of kindsOf(line, runs)) {
      const hosts = hostsIn(line)
      seen({ kind, line: n + 1, text: line, ...(hosts.length === 0 ? {} : { hosts }) })
    }
    for (const shell of shellTexts(line)) shellFacts(shell, one => seen({ ...one, line: n + 1 }))
  }
}
