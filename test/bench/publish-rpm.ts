import { getDistribution } from '../support/repositories.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { nameOf, addOne } from './add-one.ts'
import { isInstalled } from './tools.ts'

/** A package with as many needs, files and changes as a usual one has. */
function buildOne(n: number): Promise<Buffer> {
  const name = nameOf(n)
  const files = Array.from({ length: 20 }, (_, i): readonly [string, string] => [
    `usr/share/${name}/data/part-${i}.txt`,
    '',
  ])
  return buildRpm({
    name,
    version: '1.0',
    release: '1.el9',
    summary: `package number ${n} of a measurement`,
    description:
      'It has a description of a usual length, so that the index has entries of a usual size. Nobody installs it.',
    url: `https://example.test/${name}`,
    vendor: 'Example',
    packager: 'Somebody <somebody@example.test>',
    requires: [
      'libc.so.6(GLIBC_2.34)(64bit)',
      'libgcc_s.so.1()(64bit)',
      `lib${name} = 1.0-1.el9`,
      '/bin/sh',
      'rtld(GNU_HASH)',
    ],
    provides: [`${name}-api = 1`, `lib${name}.so.1()(64bit)`],
    files: { [`usr/bin/${name}`]: '', [`etc/${name}.conf`]: '', ...Object.fromEntries(files) },
    changelog: Array.from({ length: 10 }, (_, i) => ({
      author: 'Somebody <somebody@example.test> - 1.0-1',
      at: 1_700_000_000 - i * 86_400,
      text: `- change number ${i} of ${name}`,
    })),
  })
}

const INDEX = 'createrepo_c -q --update --no-database --workers 2 packages'

/** One RPM more in a distribution of so many, beside createrepo_c: `npm run bench publish-rpm -- 1000 10000`. */
export function run(args: readonly string[]): Promise<boolean> {
  return addOne(
    {
      distribution: getDistribution('almalinux9'),
      build: buildOne,
      fileName: ({ name }) => `${name}.rpm`,
      ...(isInstalled('createrepo_c') ? { tool: { name: 'createrepo_c --update', before: INDEX, again: INDEX } } : {}),
    },
    args,
  )
}
