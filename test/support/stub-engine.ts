import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The stub's answer to a scan. */
export type StubScan =
  | { readonly print: string; readonly noise?: string; readonly exit?: number }
  | { readonly does: 'hang' | 'crash' | 'flood' }

export interface StubSpec {
  readonly name: 'grype' | 'trivy'
  /** Its answer to `version`. */
  readonly version: string
  /** Its answer to `db status`, and whether that fails. */
  readonly db?: { readonly print: string; readonly exit?: number }
  readonly scan: StubScan
}

const heredoc = (text: string, to = ''): string => `cat ${to}<<'STUB_END'\n${text}\nSTUB_END`

function scanScript(scan: StubScan): string {
  if ('does' in scan) {
    return {
      hang: 'sleep 1000 & wait',
      crash: 'kill -SEGV $$',
      flood: `printf '{"matches":['; exec tr '\\0' ' ' < /dev/zero`,
    }[scan.does]
  }
  return `${scan.noise === undefined ? '' : `${heredoc(scan.noise, '>&2 ')}\n`}${heredoc(scan.print)}\nexit ${scan.exit ?? 0}`
}

/**
 * A STUB of an engine: a script that writes down how it was called and replays what it was given. It scans nothing, and
 * no test may take it for a scan; it is there for the behaviour of processes.
 * @returns its folder, for a search path; `calls` and `input` lie in it
 */
export async function stubEngine(folder: string, { name, version, db, scan }: StubSpec): Promise<string> {
  await mkdir(folder, { recursive: true })
  const script = `#!/bin/sh
# a stub: it replays what a test gave it and scans nothing
{ printf '%s\\n' "$*"; env | sort; pwd; ls -A; echo; } >> ${folder}/calls
case "$1 $2" in
  version*) ${heredoc(version)}
  exit 0;;
  'db status') ${heredoc(db?.print ?? '{}')}
  exit ${db?.exit ?? 0};;
esac
for last; do :; done
for one; do case "$one" in purl:*) cp "\${one#purl:}" ${folder}/input;; *.cdx.json) cp "$one" ${folder}/input;; esac; done
${scanScript(scan)}
`
  const path = join(folder, name)
  await writeFile(path, script)
  await chmod(path, 0o755)
  return folder
}
