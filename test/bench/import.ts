import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import { pathToFileURL } from 'node:url'
import { machineKeys } from '../support/machine-archive.ts'
import { measureAdoption } from './adopt.ts'
import { measureClosures } from './closures.ts'
import { measureSearch } from './import-search.ts'
import { measureSync } from './import-sync.ts'
import { isRun, type Measured } from './rows.ts'

const DEBIAN = 'http://ftp.debian.org/debian/'
const SUITE = { suite: 'bookworm', components: ['main'], arch: 'amd64' }

/** The suite at an address, or in a directory with the files of one. */
async function synchronise(place: string): Promise<Measured> {
  const what = `synchronisation of ${SUITE.suite} from ${place}`
  const keys = await machineKeys()
  if (keys === undefined) return [{ what, why: 'debian-archive-keyring is not installed' }]
  const url = (existsSync(place) ? pathToFileURL(place).href : place).replace(/\/*$/, '/')
  return measureSync({ ...SUITE, url }, keys)
}

/**
 * What importing costs, as one table: `npm run bench import [address or directory of a Debian archive] [packages]`. A
 * part that cannot run says why and is counted; false where a target is missed.
 */
export async function run([place = DEBIAN, packages = '10000']: readonly string[]): Promise<boolean> {
  const parts: readonly (readonly [name: string, measure: () => Promise<Measured>])[] = [
    ['synchronisation', () => synchronise(place)],
    ['search', measureSearch],
    ['closures', () => measureClosures(200, 1)],
    ['adoption', () => measureAdoption(Number(packages))],
  ]
  const all: Measured[] = []
  const load = (): string => (loadavg()[0] ?? 0).toFixed(1)
  const before = load()
  for (const [what, measure] of parts) {
    console.log(`\n${what}`)
    const failed = (error: unknown): Measured => [{ what, why: error instanceof Error ? error.message : String(error) }]
    all.push(await measure().catch(failed))
  }
  const lines = all.flat()
  console.log(`\nload ${before} before, ${load()} after\n\n| what | here | beside it | |\n|---|---|---|---|`)
  for (const one of lines) {
    const word = !isRun(one) ? 'not run' : one.isWithin === undefined ? '' : one.isWithin ? 'within' : 'MISSED'
    console.log(
      `| ${one.what} | ${isRun(one) ? one.here : one.why} | ${isRun(one) ? (one.beside ?? '') : ''} | ${word} |`,
    )
  }
  const missed = lines.filter(one => isRun(one) && one.isWithin === false).length
  const absent = lines.filter(one => !isRun(one)).length
  console.log(`\n${lines.length - absent} measured, ${missed} over their target, ${absent} not run`)
  return missed === 0
}
