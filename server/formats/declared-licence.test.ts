import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildArtifact, buildImage, layerOf, spoolImage } from '../../test/support/oci-images.ts'
import { buildApk } from '../../test/support/packages-apk.ts'
import { buildPom, spoolVersion } from '../../test/support/packages-maven.ts'
import { buildNpm } from '../../test/support/packages-npm.ts'
import { buildWheel, wheelName } from '../../test/support/packages-pypi.ts'
import { buildRpm } from '../../test/support/packages-rpm.ts'
import { buildDeb, spoolBytes } from '../../test/support/packages.ts'
import type { SpooledFile } from '../files/spool.ts'
import { getFormat } from './index.ts'
import type { FormatId } from '../core/identity.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-licences-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What a package says of its licence, and whether saying none would mean something. */
async function declared(format: FormatId, file: SpooledFile): Promise<readonly [string | undefined, boolean]> {
  const { inspect, declaresLicence } = getFormat(format)
  const { about, facts } = await inspect(file, new AbortController().signal)
  return [about.license, declaresLicence?.(facts) === true]
}
const spool = async (name: string, bytes: Buffer | Promise<Buffer>): Promise<SpooledFile> =>
  spoolBytes(await mkdtemp(join(folder, 'p-')), name, await bytes)

// from package.json of old and new packages
test.each<[object, string | undefined]>([
  [{ license: 'MIT' }, 'MIT'],
  [{ license: '(MIT OR GPL-3.0-or-later)' }, '(MIT OR GPL-3.0-or-later)'],
  [{ license: 'SEE LICENSE IN LICENSE.md' }, 'SEE LICENSE IN LICENSE.md'],
  [{ license: { type: 'BSD', url: 'https://example.org/LICENSE' } }, 'BSD'],
  [{ license: undefined, licenses: [{ type: 'MIT' }, { type: 'GPL', url: 'http://x' }] }, 'MIT OR GPL'],
  [{ license: undefined, licenses: ['MIT', 'Apache2'] }, 'MIT OR Apache2'],
  [{ license: undefined, licenses: { type: 'AGPLv3' } }, 'AGPLv3'],
  [{ license: undefined }, undefined],
])('npm: %j says %s', async (json, said) => {
  const bytes = buildNpm({ name: 'a', version: '1.0.0', json: json as Record<string, unknown> })
  expect(await declared('npm', await spool('a-1.0.0.tgz', bytes))).toEqual([said, true])
})

test.each<[Readonly<Record<string, string | readonly string[]>>, string | undefined]>([
  [
    { 'License-Expression': 'MIT AND Apache-2.0', 'Classifier': 'License :: OSI Approved :: BSD License' },
    'MIT AND Apache-2.0',
  ],
  [{ License: 'MIT' }, 'MIT'],
  [{ License: 'BSD-3-Clause', Classifier: 'License :: OSI Approved :: BSD License' }, 'BSD-3-Clause'],
  [{ License: 'see LICENSE', Classifier: 'License :: OSI Approved :: BSD License' }, 'BSD License'],
  [{ License: 'ours', Classifier: 'License :: OSI Approved :: MIT License' }, 'MIT'],
  [{ Classifier: 'License :: OSI Approved :: GNU Affero General Public License v3' }, 'AGPL-3.0-only'],
  [
    { Classifier: 'License :: OSI Approved :: GNU Affero General Public License v3 or later (AGPLv3+)' },
    'AGPL-3.0-or-later',
  ],
  [
    {
      Classifier: [
        'Programming Language :: Python :: 3',
        'License :: OSI Approved :: Apache Software License',
        'License :: OSI Approved :: GNU General Public License v2 or later (GPLv2+)',
      ],
    },
    'Apache Software License AND GPL-2.0-or-later',
  ],
  [{ Classifier: 'License :: OSI Approved', License: 'ISC' }, 'ISC'],
  [{ Classifier: 'License :: Other/Proprietary License' }, 'Other/Proprietary License'],
  [{}, undefined],
])('PyPI: %j says %s', async (fields, said) => {
  const spec = { name: 'a', version: '1.0', fields }
  expect(await declared('pypi', await spool(wheelName(spec), buildWheel(spec)))).toEqual([said, true])
})

test.each<[string, string | undefined]>([
  [
    '<license><name>The Apache Software License, Version 2.0</name><url>http://www.apache.org/licenses/LICENSE-2.0.txt</url><distribution>repo</distribution></license>',
    'Apache-2.0',
  ],
  [
    '<license><name>EPL 2.0</name></license><license><name>GPL2 w/ CPE</name><url>https://www.gnu.org/software/classpath/license.html</url></license>',
    'EPL-2.0 OR GPL2 w/ CPE',
  ],
  ['<license><name>BSD</name><url>https://opensource.org/licenses/BSD-3-Clause</url></license>', 'BSD-3-Clause'],
  ['<license><url>https://www.gnu.org/licenses/agpl-3.0.html</url></license>', 'AGPL-3.0'],
  ['<license><name>Acme licence</name><url>https://acme.example/licence</url></license>', 'Acme licence'],
  [
    '<license><name>Apache-2.0 OR MIT</name><url>https://opensource.org/licenses/MIT</url></license>',
    'Apache-2.0 OR MIT',
  ],
  ['<license/>', undefined],
])('Maven: %s says %s', async (licenses, said) => {
  const pom = buildPom({ packaging: 'pom', more: `<licenses>${licenses}</licenses>` })
  const file = await spoolVersion(await mkdtemp(join(folder, 'm-')), { 'lib-1.0.pom': pom })
  expect(await declared('maven', file)).toEqual([said, true])
})

const KEY = 'org.opencontainers.image.licenses'
test.each<[string, object, string | undefined]>([
  ['an annotation', { manifest: { annotations: { [KEY]: 'MIT' } }, labels: { [KEY]: 'ISC' } }, 'MIT'],
  ['a label', { labels: { [KEY]: 'AGPL-3.0-only' } }, 'AGPL-3.0-only'],
  ['nothing', {}, undefined],
])('OCI: of an image %s says it', async (_, spec, said) => {
  const image = buildImage({ layers: [layerOf({ name: 'a', body: Buffer.from('x') })], ...spec })
  expect(await declared('oci', await spoolImage(folder, 'app', image))).toEqual([said, true])
})

test('OCI: what is no image need not say it', async () => {
  const artifact = buildArtifact('application/vnd.example', Buffer.from('signed'))
  expect(await declared('oci', await spoolImage(folder, 'app', artifact))).toEqual([undefined, false])
})

test.each(['GPLv3+ and LGPLv2+ and BSD', 'AGPL-3.0-or-later'])('RPM: the tag of the header says %s', async license => {
  const bytes = buildRpm({ name: 'a', version: '1', release: '1', license })
  expect(await declared('rpm', await spool('a.rpm', bytes))).toEqual([license, true])
})

test('apk: .PKGINFO says it', async () => {
  const bytes = buildApk({ name: 'a', version: '1-r0', fields: { license: 'MIT AND AGPL-3.0-only' } })
  expect(await declared('apk', await spool('a.apk', bytes))).toEqual(['MIT AND AGPL-3.0-only', true])
})

test('deb: its control file has no field for it; what some builders write there counts', async () => {
  const plain = buildDeb({ name: 'aa', version: '1' })
  expect(await declared('deb', await spool('a.deb', plain))).toEqual([undefined, false])
  const built = buildDeb({ name: 'aa', version: '1', fields: { License: 'AGPL-3.0-only' } })
  expect(await declared('deb', await spool('b.deb', built))).toEqual(['AGPL-3.0-only', false])
})
