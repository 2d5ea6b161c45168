import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, mustRun, run, type Ran } from './tools.ts'

/** A program that is on PATH, or that an environment variable names. */
const program = (name: string, variable: string): string | undefined => process.env[variable] ?? findProgram(name)
export const twine = program('twine', 'TWINE')
export const uv = program('uv', 'UV')
export const poetry = program('poetry', 'POETRY')

const SYSTEM_PYTHON = '/usr/bin/python3'
/** Those that are here and can make an environment: that on PATH first, and that of the system, with an older pip. */
export const pythons = await (async (): Promise<readonly string[]> => {
  const found: string[] = []
  for (const one of new Set([findProgram('python3') ?? SYSTEM_PYTHON, SYSTEM_PYTHON])) {
    const canMake = existsSync(one) && (await run(one, ['-c', 'import venv, ensurepip'])).code === 0
    if (canMake) found.push(one)
  }
  return found
})()
/** Why pip cannot be tried; undefined where it can. */
export const noPip = pythons.length > 0 ? undefined : 'needs python3 with venv: the Debian package python3-venv'

/** A Python of its own, with nothing installed but pip. */
export interface PythonClient {
  readonly folder: string
  /** Without the settings of whoever runs the tests. @returns what was written to both, as one text in `out` */
  pip(...args: readonly string[]): Promise<Ran>
  uv(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>
  /** Prints what an expression is, after an import. */
  value(module: string, expression: string): Promise<string>
  close(): Promise<void>
}

const together = async (ran: Promise<Ran>): Promise<Ran> => {
  const { code, out, err } = await ran
  return { code, out: `${out}${err}`, err }
}

export async function createPython(python = pythons[0] ?? 'python3'): Promise<PythonClient> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-python-'))
  await mustRun(python, ['-m', 'venv', join(folder, 'venv')])
  const bin = join(folder, 'venv', 'bin')
  const own = { HOME: folder, XDG_CONFIG_HOME: folder, UV_NO_CONFIG: '1', UV_CACHE_DIR: join(folder, 'uv') }
  return {
    folder,
    pip: (command, ...args) =>
      together(
        run(join(bin, 'pip'), ['--isolated', '--no-cache-dir', '--disable-pip-version-check', command ?? '', ...args], {
          env: own,
          cwd: folder,
        }),
      ),
    uv: (args, env = {}) =>
      together(run(uv ?? 'uv', args, { env: { ...own, VIRTUAL_ENV: join(folder, 'venv'), ...env }, cwd: folder })),
    value: async (module, expression) =>
      (await mustRun(join(bin, 'python'), ['-c', `import ${module}; print(${expression})`])).trim(),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
