import type { InstallFact, InstallRecord, InstallScript } from '../../core/install-facts.ts'
import { Malformed } from '../../lib/limited.ts'
import type { EntryFacts, OpenFile } from '../reader.ts'
import { entryFacts, ONCE } from './entries.ts'
import { languageScript, npmFact, npmOwn, readNpmScripts } from './languages-own.ts'
import { MAX_SCRIPT_BYTES, scanScript, showLine, type RawScript } from './scan-script.ts'
import { isServiceFile, serviceSays } from './service-files.ts'

/** The most facts of one package; each kind of each file still counts. */
const MAX_FACTS = 1_000
const MAX_SCRIPTS = 500

/** Scripts by where the inner archives of deb, apk and rpm have them, and what names them. */
const SCRIPT =
  /^control\.tar!\/(preinst|postinst|prerm|postrm|config|\.(?:pre|post)-(?:install|upgrade|deinstall)|\.trigger)$|^scripts!\/([^/]+)$/
const TRIGGERS = 'control.tar!/triggers'
const NPM_PACKAGE = /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/
const MAX_NPM_BYTES = 256 * 1024

/** Collects what installing one package does, file by file. */
export interface Installing {
  /** What the list of files says of a path: of files, folders, links and devices. */
  entry(path: string, entry: EntryFacts): void
  /** Reads a file where it is a script, or says what a service does. Damage in it is a fact, no error. */
  file(file: OpenFile, interpreter?: string): Promise<void>
  /** Undefined where installing the package only puts plain files in their places. */
  result(): InstallRecord | undefined
}

/** The scripts that npm runs when it installs a package; here it is there already, and nobody runs them. */
async function npmScripts(file: OpenFile): Promise<InstallFact[]> {
  const scripts = readNpmScripts(await file.whole(MAX_NPM_BYTES))
  return scripts.map(one => npmFact(file.path, one))
}

/** What a package of Debian waits for. Source: deb-triggers(5) */
async function triggers(file: OpenFile): Promise<InstallFact[]> {
  const lines = (await file.whole(MAX_NPM_BYTES)).toString('utf8').split('\n')
  return lines.flatMap((line, n): InstallFact[] => {
    const isInterest = /^\s*interest(?:-noawait|-await)?\s+\S/.test(line)
    return isInterest ? [{ kind: 'has_trigger', path: 'triggers', line: n + 1, text: showLine(line) }] : []
  })
}

const byPlace = (a: InstallFact, b: InstallFact): number =>
  a.path === b.path ? (a.line ?? 0) - (b.line ?? 0) : a.path < b.path ? -1 : 1

/** Begins with nothing. */
export function createInstalling(): Installing {
  const scripts: InstallScript[] = []
  const facts: InstallFact[] = []
  const once = new Set<string>()
  const own = npmOwn()
  let more = 0

  const add = (found: readonly InstallFact[]): void => {
    for (const fact of found) {
      if (ONCE.has(fact.kind) && once.has(fact.kind)) continue
      once.add(fact.kind)
      if (facts.length < MAX_FACTS) facts.push(fact)
      else more++
    }
  }

  async function script(name: string, file: OpenFile, interpreter: string | undefined): Promise<void> {
    const bytes = file.size === 0 ? Buffer.alloc(0) : await file.read(0, Math.min(file.size, MAX_SCRIPT_BYTES))
    scan({ name, bytes, size: file.size, interpreter })
  }

  function scan(raw: RawScript): void {
    const scanned = scanScript(raw)
    if (scripts.length < MAX_SCRIPTS) scripts.push(scanned.script)
    add(scanned.facts)
    more += scanned.more
  }

  /** Adds what a service says to the fact that its place made. */
  async function service(file: OpenFile): Promise<void> {
    const at = facts.findLastIndex(({ path }) => path === file.path)
    const fact = facts[at]
    if (fact !== undefined) facts[at] = { ...fact, ...(await serviceSays(file)) }
  }

  return {
    entry: (path, entry) => add(entryFacts(path, entry)),
    async file(file, interpreter) {
      const found = SCRIPT.exec(file.path)
      const name = found?.[1] ?? found?.[2]
      const python = languageScript(file.path)
      try {
        if (name !== undefined) await script(name, file, interpreter)
        else if (file.path === TRIGGERS) add(await triggers(file))
        else if (isServiceFile(file.path)) await service(file)
        else if (python !== undefined) await script(python.name, file, python.interpreter)
        else if (own.wants(file.path)) {
          const { scripts: run, facts: said } = await own.read(file)
          add(said)
          run.forEach(scan)
        } else if (NPM_PACKAGE.test(file.path) && file.size <= MAX_NPM_BYTES) add(await npmScripts(file))
      } catch (error) {
        // what the walk ends with is not for here; a package.json that is no JSON is no script either
        if (error instanceof SyntaxError) return
        if (!(error instanceof Malformed)) throw error
        add([{ kind: 'unreadable_script', path: name ?? file.path, text: showLine(error.why) }])
      }
    },
    result() {
      add(own.rest())
      if (scripts.length === 0 && facts.length === 0) return undefined
      return {
        scripts: scripts.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        facts: facts.toSorted(byPlace),
        ...(more === 0 ? {} : { more }),
      }
    },
  }
}
