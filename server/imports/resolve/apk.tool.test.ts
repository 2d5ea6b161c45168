import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apkProgram } from '../../../test/support/apk.ts'
import { apkCandidate, askApk } from '../../../test/support/apk-repository.ts'
import { APK_CASES } from '../../../test/support/closure-cases-apk.ts'
import { createRandom } from '../../../test/support/random.ts'
import { randomApks } from '../../../test/support/random-repositories.ts'
import { compareVersions } from '../../formats/apk/version.ts'
import { apkResolver } from './apk.ts'
import { gather, rowsIn } from './prefetch.ts'
import { label } from './rules.ts'
import { createUniverse } from './universe.ts'

/** More by REPOSITORIES=500, others by SEED. */
const REPOSITORIES = Number(process.env['REPOSITORIES'] ?? 40) // eslint-disable-line no-restricted-properties -- asked for by hand
const SEED = Number(process.env['SEED'] ?? 20261121) // eslint-disable-line no-restricted-properties -- asked for by hand

if (apkProgram === undefined)
  console.warn('skipped: what apk makes of the cases of apk.test.ts and of random repositories, for want of apk')

interface Asked {
  readonly packages: readonly string[]
  readonly root: string
  readonly ours: readonly string[] | undefined
  readonly apk: readonly string[] | undefined
  readonly alone: readonly string[] | undefined
}

describe.skipIf(apkProgram === undefined)('apk chooses', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-closure-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(APK_CASES.map((one, at) => ({ ...one, at })))(
    'as the cases of apk.test.ts say: $rule',
    async ({ at, packages, root, closure }) => {
      const found = await askApk(join(folder, String(at)), packages, root)
      const said = found?.map(one => (closure?.includes(one) === true ? one : (one.split(' ')[0] ?? '')))
      expect(said?.sort()).toEqual(closure)
    },
  )

  /** What apk makes of a question, with all packages and with those alone that would be imported. */
  async function ask(packages: readonly string[], root: string, at: string): Promise<Asked> {
    const all = packages.map((text, n) => apkCandidate(text, n))
    const of = { roots: [{ name: root }], recommends: false }
    const rows = { upstream: rowsIn(createUniverse(all, compareVersions)), published: () => Promise.resolve([]) }
    const { universe } = await gather(rows, of, compareVersions)
    const closure = apkResolver.resolve(universe, { ...of, arch: 'x86_64', base: [], published: [] })
    const ids = new Set(closure.packages.map(({ id }) => id))
    const own = packages.filter((_, n) => ids.has(all[n]?.id ?? ''))
    return {
      packages,
      root,
      ours: closure.satisfied ? closure.packages.map(one => label(one)).sort() : undefined,
      apk: await askApk(join(folder, `${at}-all`), packages, root),
      alone: closure.satisfied ? await askApk(join(folder, `${at}-own`), own, root) : undefined,
    }
  }

  test(`what we would import, in ${REPOSITORIES} random repositories`, { timeout: 600_000 }, async () => {
    const random = createRandom(SEED)
    const asked: Asked[] = []
    for (let at = 0; at < REPOSITORIES; at++) {
      const packages = randomApks(random)
      for (const root of ['a', 'b', 'c', 'v']) asked.push(await ask(packages, root, `random-${at}-${root}`))
    }
    const resolved = asked.filter(({ ours }) => ours !== undefined)
    const differing = asked.filter(({ ours, apk }) => ours?.join() !== apk?.join())
    console.log(
      `seed ${SEED}: ${asked.length} questions, ${resolved.length} resolved, ${differing.length} otherwise than by apk`,
    )
    expect(resolved.filter(({ ours, alone }) => ours?.join() !== alone?.join())).toEqual([])
    // apk never goes back on a choice, and 2.14 and 3.0 themselves differ: in how a name without a version compares to
    // one with it, and in which dead ends they see
    expect(differing.length / asked.length).toBeLessThan(0.05)
  })
})
