import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RPM_CASES } from '../../../test/support/closure-cases-rpm.ts'
import { askDnf, hasDnf, writeRpmRepository } from '../../../test/support/rpm-repository.ts'
import { lacking } from '../../../test/support/tools.ts'

const lacks = lacking('dnf', 'createrepo-c')
if (lacks.length > 0)
  console.warn(`skipped: what dnf makes of the cases of rpm.test.ts, for want of ${lacks.join(', ')}`)

describe.skipIf(lacks.length > 0 || !hasDnf)('dnf chooses as the cases of rpm.test.ts say', () => {
  let folder: string
  const answers = new Map<string, readonly string[] | null>()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-closure-'))
    const repositories = RPM_CASES.map(({ root, recommends = false }, at) => ({
      folder: join(folder, String(at)),
      questions: [{ root, recommends }],
    }))
    for (const [at, { packages }] of RPM_CASES.entries()) await writeRpmRepository(join(folder, String(at)), packages)
    for (const [at, [answer = null]] of askDnf(folder, repositories).entries())
      answers.set(RPM_CASES[at]?.rule ?? '', answer)
  }, 120_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(RPM_CASES)('$rule', ({ rule, closure }) => {
    const got = answers.get(rule)?.map(text => (closure?.includes(text) === true ? text : (text.split(' ')[0] ?? '')))
    expect(got?.sort()).toEqual(closure)
  })
})
