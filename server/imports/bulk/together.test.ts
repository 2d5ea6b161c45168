import { expect, test } from 'vitest'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Admit, Changed } from '../../catalog/change.ts'
import { AppError } from '../../core/errors.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Tx } from '../../db/db.ts'
import type { Applicant, Gate } from '../../pipeline/gate.ts'
import { admitTogether, type Fate } from './together.ts'

const TX = {} as Tx
const manifestOf = (name: string): Manifest => ({ ref: { name } }) as Manifest
const changed = (name: string): Changed => ({
  outcome: 'created',
  manifest: manifestOf(name),
  settled: () => Promise.resolve(true),
})

/** Applicants are their names: `bad` is refused in the gate, `full` meets a full disk, `known` never needs the door. */
function make({ catalogFails = false } = {}) {
  const through: string[][] = []
  const left: string[] = []
  const gate: Gate = {
    async *admit({ file: { filename: name } }, signal, door) {
      yield { step: 'format', outcome: 'ok', verdict: 'valid', said: '' }
      try {
        signal.throwIfAborted()
        if (name === 'bad') throw new AppError('bad_package', { filename: name, why: 'it is none' })
        if (name === 'full') throw new AppError('storage_full', {})
        if (name === 'known') return { ...changed(name), outcome: 'already' }
        if (door === undefined) throw new Error('it came to another door')
        return await door({ kind: 'admit', manifest: manifestOf(name), files: [] }, { name: 'ann' })
      } finally {
        left.push(name)
      }
    },
  }
  const changeAll: Catalog['changeAll'] = async (changes, _, within) => {
    const names = changes.map(({ manifest }: Admit) => manifest.ref.name)
    await within(
      TX,
      changes.map(({ manifest }) => ({ value: { outcome: 'created', manifest } })),
    )
    if (catalogFails) throw new Error('the database is gone')
    through.push(names)
    return names.map(name => ({ value: changed(name) }))
  }
  return { gate, catalog: { changeAll }, through, left }
}

const applicants = (...names: readonly string[]): Applicant[] =>
  names.map(filename => ({ file: { filename } }) as unknown as Applicant)
const sayFates = (fates: readonly Fate[]): string[] =>
  fates.map(fate => ('error' in fate ? 'error' : `${fate.value.manifest.ref.name} ${fate.value.outcome}`))

function admit(deps: ReturnType<typeof make>, names: readonly string[], signal = new AbortController().signal) {
  const seen: string[][] = []
  const done = admitTogether(
    deps,
    { applicants: applicants(...names), actor: { name: 'ann' } },
    { signal, within: async (_, fates) => void seen.push(sayFates(fates)) },
  )
  return { seen, done }
}

test('all go through the door together, and what is written with them names each in its place', async () => {
  const deps = make()
  const names = Array.from({ length: 150 }, (_, n) => `p${n}`)
  const { done, seen } = admit(deps, ['known', ...names.slice(0, 70), 'bad', ...names.slice(70)])
  const outcomes = sayFates(await done)
  expect(deps.through.map(some => some.toSorted())).toEqual([names.toSorted()])
  expect(seen).toEqual([outcomes])
  expect([outcomes[0], outcomes[1], outcomes[71], outcomes[72]]).toEqual([
    'known already',
    'p0 created',
    'error',
    'p70 created',
  ])
})

test('none of them, or none that comes to the door, is still written down', async () => {
  for (const names of [[], ['bad', 'known']]) {
    const { done, seen } = admit(make(), names)
    await done
    expect(seen).toHaveLength(1)
  }
})

test('what would meet the next one, too, ends all of them: nothing is added, and every file is let go', async () => {
  const deps = make()
  const { done, seen } = admit(deps, ['a', 'full', 'b'])
  await expect(done).rejects.toMatchObject({ code: 'storage_full' })
  expect(deps.through).toEqual([])
  expect(seen).toEqual([])
  expect(deps.left.toSorted()).toEqual(['a', 'b', 'full'])
})

test('when the catalogue fails, or the job is cancelled, all of them fail with that', async () => {
  const broken = make({ catalogFails: true })
  await expect(admit(broken, ['a', 'b']).done).rejects.toThrow('the database is gone')
  expect(broken.left.toSorted()).toEqual(['a', 'b'])
  const stopper = new AbortController()
  stopper.abort(new Error('cancelled'))
  const deps = make()
  await expect(admit(deps, ['a'], stopper.signal).done).rejects.toThrow('cancelled')
  expect(deps.through).toEqual([])
})
