import { getDistribution } from '../support/repositories.ts'
import { buildApk } from '../support/packages-apk.ts'
import { nameOf, addOne } from './add-one.ts'
import { isInstalled } from './tools.ts'

/** A package whose index entry is as long as a usual one. */
function buildOne(n: number): Promise<Buffer> {
  const name = nameOf(n)
  return buildApk({
    name,
    version: '1.0.0-r0',
    files: { [`usr/bin/${name}`]: name },
    fields: {
      pkgdesc: `package number ${n} of a measurement, which nobody installs`,
      url: `https://example.test/${name}`,
      maintainer: 'Somebody <somebody@example.test>',
      license: 'MIT',
      commit: '0123456789abcdef0123456789abcdef01234567',
      depend: ['so:libc.musl-x86_64.so.1', 'so:libgcc_s.so.1', `so:lib${name}.so.1`],
      provides: [`cmd:${name}=1.0.0-r0`, `so:lib${name}.so.1=1.0.0`],
    },
  })
}

const INDEX = "find packages -name '*.apk' | xargs apk index --allow-untrusted --no-warnings --rewrite-arch x86_64"

/**
 * One APK more in a distribution of so many, beside `apk index` where it is: `npm run bench publish-apk -- 1000 10000`.
 */
export function run(args: readonly string[]): Promise<boolean> {
  return addOne(
    {
      distribution: getDistribution('alpine3.20'),
      build: buildOne,
      fileName: ({ name, version }) => `${name}-${version}.apk`,
      ...(isInstalled('apk')
        ? {
            tool: {
              name: 'apk index',
              before: `${INDEX} -o old.tar.gz`,
              again: `${INDEX} -x old.tar.gz -o new.tar.gz`,
            },
          }
        : {}),
    },
    args,
  )
}
