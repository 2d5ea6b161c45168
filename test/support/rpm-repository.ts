import { spawnSync } from 'node:child_process'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rpmUpstream } from '../../server/formats/rpm/upstream.ts'
import type { Candidate } from '../../server/imports/resolve/closure.ts'
import { trustKeys } from '../../server/signing/trusted-keys.ts'
import { candidatesOf } from './candidates.ts'
import { rpmSpec } from './closure-cases-rpm.ts'
import { buildRpm } from './packages-rpm.ts'
import { mustRun } from './tools.ts'

/** Makes a repository of packages as `RPM_CASES` writes them, with createrepo_c. */
export async function writeRpmRepository(folder: string, packages: readonly string[]): Promise<void> {
  await mkdir(folder)
  for (const [at, text] of packages.entries()) await writeFile(join(folder, `${at}.rpm`), await buildRpm(rpmSpec(text)))
  await mustRun('createrepo_c', ['--no-database', folder])
}

/** Its packages as the catalogue gives them to resolution, through the product's own reader. */
export async function readRpmRepository(folder: string): Promise<Candidate[]> {
  const now = new Date()
  const upstream = await rpmUpstream.open({
    fetch: path => Promise.resolve(existsSync(join(folder, path)) ? createReadStream(join(folder, path)) : undefined),
    keys: await trustKeys({ openpgp: [], rsa: new Map(), now: () => now }),
    now,
    unsigned: true,
  })
  const found = []
  for await (const entry of upstream.entries()) found.push(entry.read())
  return candidatesOf(found, 'r')
}

// dnf belongs to the Python of the system, which need not be the first one
const python = ['/usr/bin/python3', 'python3'].find(path => spawnSync(path, ['-c', 'import dnf']).status === 0)
/** Whether dnf can be asked through its Python. */
export const hasDnf = python !== undefined

export interface DnfQuestion {
  readonly root: string
  readonly recommends?: boolean
  /** `name version` of the only packages that the repository has for this question. */
  readonly only?: readonly string[]
}

/**
 * What dnf would install on an empty machine that knows one repository alone: `name version`, sorted; null where it
 * refuses. An answer for each question of each repository.
 */
export function askDnf(
  home: string,
  repositories: readonly { readonly folder: string; readonly questions: readonly DnfQuestion[] }[],
): readonly (readonly (readonly string[] | null)[])[] {
  const { stdout, stderr } = spawnSync(python ?? '', [join(import.meta.dirname, 'dnf-closure.py')], {
    input: repositories.map(one => `${JSON.stringify(one)}\n`).join(''),
    encoding: 'utf8',
    env: { HOME: home, PATH: process.env.PATH },
    maxBuffer: 2 ** 28,
  })
  const lines = stdout.trim().split('\n')
  if (lines.length !== repositories.length) throw new Error(`dnf gave no answer: ${stderr}`)
  return lines.map(line => JSON.parse(line) as (string[] | null)[])
}
