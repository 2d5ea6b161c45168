import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RPM_CASES, rpmSpec } from '../../../test/support/closure-cases-rpm.ts'
import { buildRpm } from '../../../test/support/packages-rpm.ts'
import { lacking, mustRun } from '../../../test/support/tools.ts'

const lacks = lacking('dnf', 'createrepo-c')
if (lacks.length > 0)
  console.warn(`skipped: what dnf makes of the cases of rpm.test.ts, for want of ${lacks.join(', ')}`)
// dnf belongs to the Python of the system, which need not be the first one
const python = ['/usr/bin/python3', 'python3'].find(path => spawnSync(path, ['-c', 'import dnf']).status === 0)
const ASK = join(import.meta.dirname, '../../../test/support/dnf-closure.py')

describe.skipIf(lacks.length > 0 || python === undefined)('dnf chooses as the cases of rpm.test.ts say', () => {
  let folder: string
  const answers = new Map<string, string[] | null>()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-closure-'))
    const questions: string[] = []
    for (const [at, { packages, root, recommends }] of RPM_CASES.entries()) {
      const repository = join(folder, String(at))
      await mkdir(repository)
      for (const [n, text] of packages.entries())
        await writeFile(join(repository, `${n}.rpm`), await buildRpm(rpmSpec(text)))
      await mustRun('createrepo_c', ['--no-database', repository])
      questions.push(JSON.stringify({ folder: repository, root, recommends: recommends === true }))
    }
    const { stdout, stderr } = spawnSync(python ?? '', [ASK], {
      input: `${questions.join('\n')}\n`,
      encoding: 'utf8',
      env: { HOME: folder, PATH: process.env.PATH },
    })
    const lines = stdout.trim().split('\n')
    expect(lines.length, stderr).toBe(RPM_CASES.length)
    for (const [at, { rule }] of RPM_CASES.entries()) answers.set(rule, JSON.parse(lines[at] ?? '') as string[] | null)
  }, 120_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(RPM_CASES)('$rule', ({ rule, closure }) => {
    const got = answers.get(rule)?.map(text => (closure?.includes(text) === true ? text : (text.split(' ')[0] ?? '')))
    expect(got?.sort()).toEqual(closure)
  })
})
