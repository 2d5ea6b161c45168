import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildNpm } from '../../test/support/packages-npm.ts'
import { spoolBytes } from '../../test/support/packages.ts'
import { registry } from '../../test/support/registries.ts'
import type { RegistryKind } from '../core/registry.ts'
import { npm } from '../formats/npm/index.ts'
import { createSubject } from './format-check.ts'
import { createUnpacking } from './unpacking.ts'

/** What the step makes of a package with a name that no new package may have. */
async function nameTaken(kind: RegistryKind): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-format-'))
  const bytes = buildNpm({ name: 'JSONStream', version: '1.0.0' })
  const file = await spoolBytes(folder, 'JSONStream-1.0.0.tgz', bytes)
  const distribution = { ...registry('npm'), registry: { kind } }
  const subject = createSubject({ file, format: npm, distribution } as never, createUnpacking())
  try {
    return (await subject.inspected(new AbortController().signal)).identity.name
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('a name of before the rules of today comes in from another registry, and is published into none', async () => {
  expect(await nameTaken('proxy')).toBe('JSONStream')
  await expect(nameTaken('hosted')).rejects.toMatchObject({
    code: 'bad_package',
    message: expect.stringContaining('"JSONStream" is not allowed: a name has lower-case letters') as string,
  })
})
