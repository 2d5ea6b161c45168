import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rpmSpec } from '../../../test/support/closure-cases-rpm.ts'
import { createRandom } from '../../../test/support/random.ts'
import { randomRpms } from '../../../test/support/random-repositories.ts'
import { askDnf, hasDnf, readRpmRepository, writeRpmRepository } from '../../../test/support/rpm-repository.ts'
import { lacking } from '../../../test/support/tools.ts'
import { compareVersions } from '../../formats/rpm/version.ts'
import type { Closure } from './closure.ts'
import { gather, rowsIn } from './prefetch.ts'
import { label } from './rules.ts'
import { rpmResolver } from './rpm.ts'
import { createUniverse } from './universe.ts'

/** More by REPOSITORIES=500, others by SEED. */
const REPOSITORIES = Number(process.env['REPOSITORIES'] ?? 40) // eslint-disable-line no-restricted-properties -- asked for by hand
const SEED = Number(process.env['SEED'] ?? 20261121) // eslint-disable-line no-restricted-properties -- asked for by hand

const lacks = lacking('dnf', 'createrepo-c')
if (lacks.length > 0) console.warn(`skipped: what dnf makes of random repositories, for want of ${lacks.join(', ')}`)

/** Whether packages with this name, or that provide it, are in an answer. */
function hasRoot(answer: readonly string[], packages: readonly string[], root: string): boolean {
  const isRoot = (text: string): boolean => {
    const { name, provides = [] } = rpmSpec(text)
    return name === root || provides.some(one => one.split(' ')[0] === root)
  }
  const named = packages.filter(isRoot).map(text => text.split('; ')[0] ?? '')
  return answer.some(one => named.includes(one))
}

interface Asked {
  /** What a failure shows: everything that is needed to repeat it. */
  readonly packages: readonly string[]
  readonly root: string
  readonly closure: Closure
  readonly dnf: readonly string[] | null
  /** What dnf installs from our closure as the only packages that there are. */
  readonly fromOurs: readonly string[] | null
}

describe.skipIf(lacks.length > 0 || !hasDnf)(`dnf and closures of ${REPOSITORIES} random repositories`, () => {
  let folder: string
  const asked: Asked[] = []

  async function resolveAll(repository: string): Promise<{ root: string; closure: Closure }[]> {
    const whole = createUniverse(await readRpmRepository(repository), compareVersions)
    const resolved = []
    for (const root of ['a', 'b', 'c', 'v']) {
      const of = { roots: [{ name: root }], recommends: false }
      const rows = { upstream: rowsIn(whole), published: () => Promise.resolve([]) }
      const { universe } = await gather(rows, of, compareVersions)
      const closure = rpmResolver.resolve(universe, { ...of, arch: 'x86_64', base: [], published: [] })
      resolved.push({ root, closure })
    }
    return resolved
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-closure-'))
    const random = createRandom(SEED)
    const made = []
    for (let at = 0; at < REPOSITORIES; at++) {
      const [packages, repository] = [randomRpms(random), join(folder, String(at))]
      await writeRpmRepository(repository, packages)
      const resolved = await resolveAll(repository)
      const questions = resolved.flatMap(({ root, closure }) => [
        { root },
        { root, only: closure.packages.map(one => label(one)) },
      ])
      made.push({ packages, resolved, folder: repository, questions })
    }
    for (const [at, answers] of askDnf(folder, made).entries()) {
      const { packages = [], resolved = [] } = made[at] ?? {}
      for (const [n, { root, closure }] of resolved.entries())
        asked.push({
          packages,
          root,
          closure,
          dnf: answers[2 * n] ?? null,
          fromOurs: answers[2 * n + 1] ?? null,
        })
    }
    const satisfied = asked.filter(({ closure }) => closure.satisfied).length
    const equal = asked.filter(
      ({ closure, dnf }) =>
        closure.satisfied &&
        closure.packages
          .map(one => label(one))
          .sort()
          .join() === dnf?.join(),
    )
    console.log(
      `seed ${SEED}: ${asked.length} questions, ${satisfied} resolved here, ${asked.filter(({ dnf }) => dnf !== null).length} by dnf, ${equal.length} with the same packages`,
    )
  }, 600_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const shown = ({ packages, root, closure, dnf }: Asked): unknown => ({
    packages,
    root,
    ours: closure.packages.map(one => label(one)),
    unresolved: closure.unresolved,
    conflicts: closure.conflicts,
    dnf,
  })

  test('what dnf cannot install is unresolved, and nothing else is', () => {
    const differing = asked
      .filter(({ closure, dnf }) => closure.satisfied !== (dnf !== null))
      // dnf also takes what obsoletes a package without having its name: that is not what is asked for
      .filter(({ dnf, packages, root }) => dnf === null || hasRoot(dnf, packages, root))
    expect(differing.map(shown)).toEqual([])
  })
  test('what is resolved installs where there is nothing else', () => {
    const wrong = asked.filter(({ closure, fromOurs }) => closure.satisfied && fromOurs === null)
    expect(wrong.map(shown)).toEqual([])
  })
})
