import type { InstallFact } from '../../core/install-facts.ts'
import { INSTALL_SCRIPTS } from '../../formats/npm/documents.ts'
import { MAX_PACKAGE_JSON } from '../../formats/npm/package-json.ts'
import type { OpenFile } from '../reader.ts'
import { hostsIn } from './hosts.ts'
import { showLine, type RawScript } from './scan-script.ts'

/*
 * What clients of registries run when they install a package: npm its scripts, pip the setup.py of a source release,
 * and every Python the lines of a .pth file that begin with import.
 */

/** The package.json of the package itself, and what npm takes for an install script without one. */
const NPM_OWN = /^package\.tar!\/[^/]+\/package\.json$/
const NPM_GYP = /^package\.tar!\/[^/]+\/binding\.gyp$/

const SETUP = /^sdist\.tar!\/[^/]+\/(setup\.py)$/
// only in the folder of the libraries itself. Source: docs.python.org, site
const PTH = /^([^/!]+\.pth)$/

/** A script of npm: its name and the line that a shell runs. */
interface NpmScript {
  readonly name: string
  readonly said: string
}

/** The scripts that npm runs at installation. @throws SyntaxError where it is no JSON */
export function readNpmScripts(bytes: Buffer): readonly NpmScript[] {
  if (!bytes.includes('install')) return []
  const json = JSON.parse(bytes.toString('utf8')) as { scripts?: Readonly<Record<string, unknown>> | null } | null
  return INSTALL_SCRIPTS.flatMap((name): NpmScript[] => {
    const said = json?.scripts?.[name]
    return typeof said === 'string' ? [{ name, said }] : []
  })
}

/** That a package.json has such a script. */
export function npmFact(path: string, { name, said }: NpmScript): InstallFact {
  const hosts = hostsIn(said)
  return {
    kind: 'npm_install_script',
    path,
    text: showLine(`${name}: ${said}`),
    ...(hosts.length === 0 ? {} : { hosts }),
  }
}

/** A file of a Python package that runs; undefined for all others. */
export function languageScript(path: string): { readonly name: string; readonly interpreter: string } | undefined {
  const name = SETUP.exec(path)?.[1] ?? PTH.exec(path)?.[1]
  return name === undefined ? undefined : { name, interpreter: 'python3' }
}

/** Reads what npm runs of the package itself. */
export interface NpmOwn {
  wants(path: string): boolean
  /** @throws SyntaxError where it is no JSON */
  read(file: OpenFile): Promise<{ readonly scripts: readonly RawScript[]; readonly facts: readonly InstallFact[] }>
  /** What npm runs by itself, once all files were seen: node-gyp, for a binding.gyp without an install script. */
  rest(): readonly InstallFact[]
}

/** Begins with nothing. */
export function npmOwn(): NpmOwn {
  let hasGyp = false
  let hasInstall = false
  return {
    wants: path => NPM_OWN.test(path) || NPM_GYP.test(path),
    async read(file) {
      if (NPM_GYP.test(file.path)) {
        hasGyp = true
        return { scripts: [], facts: [] }
      }
      const found = readNpmScripts(await file.whole(MAX_PACKAGE_JSON))
      hasInstall = found.some(({ name }) => name === 'preinstall' || name === 'install')
      return {
        facts: found.map(one => npmFact('package.json', one)),
        scripts: found.map(({ name, said }) => {
          const bytes = Buffer.from(said)
          return { name, bytes, size: bytes.length, interpreter: '/bin/sh' }
        }),
      }
    },
    rest: () =>
      hasGyp && !hasInstall
        ? [{ kind: 'npm_install_script', path: 'binding.gyp', text: 'install: node-gyp rebuild' }]
        : [],
  }
}
