import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram, mustRun } from './tools.ts'

/** Two versions and how the first stands to the second: -1, 0, 1. */
export interface VersionPair {
  readonly a: string
  readonly b: string
  readonly sign: number
}

const SIGNS: Readonly<Record<string, number>> = { '<': -1, '=': 0, '>': 1 }

/** The sign of `<`, `=` or `>`. */
export const signOf = (mark: string | undefined): number => SIGNS[mark ?? ''] ?? Number.NaN

/**
 * Where `go mod download github.com/google/osv-scalibr@latest` has put its tables of version orders; undefined where
 * nobody has. They are Apache-2.0, and no part of this project.
 */
export async function findScalibr(): Promise<string | undefined> {
  if (findProgram('go') === undefined) return undefined
  const cache = (await mustRun('go', ['env', 'GOMODCACHE'])).trim()
  const google = join(cache, 'github.com/google')
  const versions = existsSync(google) ? readdirSync(google).filter(name => name.startsWith('osv-scalibr@')) : []
  const tables = join(google, versions.sort().at(-1) ?? '', 'semantic/testdata')
  return versions.length > 0 && existsSync(tables) ? tables : undefined
}

/** The pairs of one table. */
export function readScalibr(folder: string, name: string): VersionPair[] {
  return readFileSync(join(folder, name), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !/^(?:#|\/\/) /.test(line))
    .map(line => line.split(' '))
    .map(([a = '', mark, b = '']) => ({ a, b, sign: signOf(mark) }))
}
