import { expect, test } from 'vitest'
import type { Entry, Heading } from './bill.ts'
import { spdx } from './spdx.ts'

const heading: Heading = {
  name: 'hello',
  version: '1',
  at: '2026-11-01T00:00:00.000Z',
  uuid: 'u',
  tool: 'gatehouse',
  total: 1,
  now: '2026-11-01T00:00:00.000Z',
}

/** Who made the package, as a bill of it says. */
async function supplierOf(maintainer: string | undefined): Promise<unknown> {
  const about = {
    summary: '',
    description: '',
    source: 'hello',
    source_version: '1',
    depends: [],
    provides: [],
    conflicts: [],
    maintainer,
  }
  // what a bill in SPDX reads of a manifest
  const manifest = {
    ref: { name: 'hello', version: '1', codename: 'jammy', arch: 'amd64' },
    files: [{ path: 'hello.deb', blob: {} }],
    about,
    state: 'published',
    findings: [],
  } as unknown as Entry['manifest']
  let text = ''
  async function* entries(): AsyncGenerator<Entry> {
    yield { manifest, purl: 'pkg:deb/ubuntu/hello@1', contents: { components: [], unopened: [] } }
  }
  for await (const piece of spdx.print({ heading, entries })) text += piece
  const { packages } = JSON.parse(text) as { readonly packages: readonly { readonly supplier: string }[] }
  return packages[0]?.supplier
}

test.each([
  ['Ada Lovelace <ada@example.test>', 'Person: Ada Lovelace (ada@example.test)'],
  ['"Ada (the first)" <ada@example.test>', 'NOASSERTION'],
  ['"Ada Lovelace" <ada@example.test>', 'Person: Ada Lovelace (ada@example.test)'],
  ['"Ada"<ada@example.test>, Bob <b@example.test>', 'Person: Ada (ada@example.test)'],
  ['  Ada  <ada@example.test>', 'Person: Ada (ada@example.test)'],
  ['ada@example.test', 'NOASSERTION'],
  ['<ada@example.test>', 'NOASSERTION'],
  [undefined, 'NOASSERTION'],
  [`a${' '.repeat(1_000_000)}`, 'NOASSERTION'],
])('the maintainer %.40s is written as %s', async (maintainer, supplier) => {
  expect(await supplierOf(maintainer)).toBe(supplier)
})
