import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BundledWords, RefRow } from '../../server/imports/bundle/manifest.ts'
import { startDaemon } from '../support/daemon.ts'
import { decideVersion } from '../support/defined-registries.ts'
import { createForger, type Forged } from '../support/forged-bundles.ts'
import { buildImage, layerOf, sha256, type BuiltImage } from '../support/oci-images.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { buildNpm } from '../support/packages-npm.ts'
import { buildWheel, wheelName } from '../support/packages-pypi.ts'
import { registryCalls, type RegistryCalls } from '../support/registry-publish.ts'
import { askImport, ended, settle, type Installation } from '../support/sites.ts'

// What a sender whose key is pinned may put into a bundle about registries, whatever it is.
let folder: string
let site: Installation
let calls: RegistryCalls
let forger: Awaited<ReturnType<typeof createForger>>
let number = 0

async function must(method: string, path: string, body: unknown): Promise<void> {
  const { status, text } = await site.daemon.call(method, path, { token: site.token, body })
  expect(status, text).toBeLessThan(300)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-forged-registries-'))
  site = await settle(await startDaemon({}), ['bookworm'])
  calls = registryCalls(site.daemon, site.token)
  forger = await createForger(folder)
  await must('POST', '/bundles/senders', { name: 'forger', public_key: forger.publicKey })
  await must('PATCH', '/settings/', {
    validation: { clamav_scan: false, on_scanner_unavailable: 'warn' },
    script_policy: { npm_install_script: 'review' },
  })
  for (const [name, format] of Object.entries({ js: 'npm', py: 'pypi', libs: 'maven', img: 'oci' }))
    await must('POST', '/registries/', { name, format })
  await must('POST', '/registries/', { name: 'every', format: 'npm', kind: 'group', members: ['js'] })
}, 120_000)
afterAll(async () => {
  await site.daemon.close()
  await rm(folder, { recursive: true, force: true })
})

interface Import {
  readonly not_published: readonly { readonly name: string; readonly outcome: string; readonly why: string }[]
  readonly words: readonly { readonly tag: string | null; readonly outcome: string; readonly why: string }[]
}

const at = '2026-11-27T00:00:00.000Z'
const NONE: BundledWords = { tags: [], marks: [] }

/** Takes in what is forged. @returns what the job came to, and its report */
async function take(forged: Omit<Forged, 'number' | 'change'>, words: BundledWords = NONE, assumes: RefRow[] = []) {
  const bytes = await forger.forge({
    ...forged,
    number: ++number,
    change: list => ({ ...list, format: 2, assumes, registries: words }),
  })
  const asked = await askImport(site, bytes, { name: `${number}.bundle.tar` })
  expect(asked.status, asked.text).toBe(202)
  const { result } = await ended(site, asked.body.job_id)
  const { body } = await site.daemon.call<{ imports: Import[] }>('GET', '/bundles', { token: site.token })
  return { result, said: body.imports[0] as Import }
}

const npm = (name: string, version: string, more: object = {}) => ({
  ref: ['npm', 'js', name, version, 'any'] as RefRow,
  name: `${name}-${version}.tgz`,
  bytes: buildNpm({ name, version, ...more }),
})
const image = (name: string, built: BuiltImage, blobs: readonly Buffer[]) => ({
  ref: ['oci', 'img', name, built.digest, 'linux/amd64'] as RefRow,
  name,
  bytes: built.manifest,
  beside: blobs.map(bytes => ({ name: sha256(bytes), bytes })),
})

test('a blob under the digest of another one is refused, and so is one that is missing or not named', async () => {
  const layer = layerOf({ name: 'a', body: 'what was built' })
  const built = buildImage({ layers: [layer] })
  const other = layerOf({ name: 'a', body: 'what nobody built' })
  const lie = image('lie', built, [built.config])
  const { result, said } = await take({
    packages: [
      { ...lie, beside: [...lie.beside, { name: sha256(layer), bytes: other }] },
      image('lacks', built, [built.config]),
      image('more', built, [built.config, layer, other]),
    ],
  })
  expect(result).toMatchObject({ published: 0, refused: 3 })
  const why = new Map(said.not_published.map(one => [one.name, one.why]))
  expect(why.get('lie')).toContain(`the bytes called ${sha256(layer)} have another digest`)
  expect(why.get('lacks')).toContain(`it names the blob ${sha256(layer)}, which did not come along`)
  expect(why.get('more')).toContain(`it does not name the blob ${sha256(other)}, which came along`)
  expect((await calls.oci('img', 'lie').manifest(built.digest)).status).toBe(404)
})

test('a version under the name of another one is refused, and so are files that are none of it', async () => {
  const wheel = { name: 'hello', version: '1.0' }
  const { result, said } = await take({
    packages: [
      { ...npm('evil', '1.0.0'), ref: ['npm', 'js', 'good', '1.0.0', 'any'] },
      { ...npm('beside', '1.0.0'), beside: [{ name: 'postinstall.sh', bytes: Buffer.from('x') }] },
      {
        ref: ['pypi', 'py', 'other', '1.0', 'py3-none-any'],
        name: wheelName(wheel),
        bytes: buildWheel(wheel),
      },
      {
        ref: ['maven', 'libs', 'org.example:lib', '1.0', 'any'],
        name: 'lib-1.0.pom',
        bytes: buildPom({ packaging: 'pom' }),
        beside: [{ name: 'evil-2.0.jar', bytes: Buffer.from('x') }],
      },
      { ...npm('grouped', '1.0.0'), ref: ['npm', 'every', 'grouped', '1.0.0', 'any'] },
      { ...npm('treed', '1.0.0'), ref: ['npm', 'bookworm', 'treed', '1.0.0', 'any'] },
    ],
  })
  expect(result).toMatchObject({ published: 0, refused: 6 })
  const why = new Map(said.not_published.map(one => [one.name, one.why]))
  expect(why.get('good')).toContain('and the file is npm:evil@1.0.0')
  expect(why.get('beside')).toContain('beside it comes "postinstall.sh"')
  expect(why.get('other')).toContain('and the file is pypi:hello@1.0')
  expect(why.get('org.example:lib')).toContain('files of org.example:lib 1.0 begin with lib-1.0')
  expect(why.get('grouped')).toContain('is a group here')
  expect(why.get('treed')).toBe('bookworm takes other packages here.')
  for (const name of ['good', 'evil', 'beside', 'grouped'])
    expect((await calls.get(`/npm/js/${name}`)).status, name).toBe(404)
})

test('a tag names only what is published: not what is absent, refused, held, or called as no tag is', async () => {
  await calls.npm('js', { name: 'calm', version: '1.0.0' })
  const { result, said } = await take(
    { packages: [npm('calm', '2.0.0', { json: { scripts: { install: 'node x.js' } }, files: { 'x.js': '1' } })] },
    {
      tags: [
        { of: 0, tag: 'latest', at: '2030-01-01T00:00:00.000Z' },
        { of: 1, tag: 'gone', at },
        { of: 2, tag: '1.0.0', at },
        { of: 3, tag: 'elsewhere', at },
      ],
      marks: [{ of: 1, mark: { deprecated: 'It is not there.' } }],
    },
    [
      ['npm', 'js', 'calm', '9.0.0', 'any'],
      ['npm', 'js', 'calm', '1.0.0', 'any'],
      ['npm', 'nowhere', 'calm', '1.0.0', 'any'],
    ],
  )
  expect(result).toMatchObject({ published: 0, held: 1 })
  expect(said.words.map(({ tag, outcome, why }) => [tag, outcome, why])).toEqual([
    [null, 'refused', expect.stringContaining('9.0.0') as string],
    ['latest', 'waits', '2.0.0 waits for review here; latest names it once it is approved.'],
    ['gone', 'refused', '9.0.0 is not served here, so no tag names it.'],
    ['1.0.0', 'refused', expect.stringContaining('The tag is not taken') as string],
    ['elsewhere', 'refused', 'There is no registry nowhere of this format here.'],
  ])
  const tags = async () => (await calls.packument<{ 'dist-tags': Record<string, string> }>('js', 'calm'))['dist-tags']
  expect(await tags()).toEqual({ latest: '1.0.0' })
  await decideVersion(site.daemon, {
    token: site.token,
    registry: 'js',
    name: 'calm',
    version: '2.0.0',
    action: 'approve',
  })
  expect(await tags()).toEqual({ latest: '2.0.0' })
})

test('a classifier that came through a proxy there is read here beside the version', async () => {
  const pom = { name: 'lib-1.0.pom', bytes: buildPom({ group: 'org.part' }) }
  const part = (arch: string, name: string) => ({
    ref: ['maven', 'libs', 'org.part:lib', '1.0', arch] as RefRow,
    ...{ name, bytes: buildLibrary({ [arch]: arch }), beside: [pom] },
  })
  const { result } = await take({ packages: [part('any', 'lib-1.0.jar'), part('sources.jar', 'lib-1.0-sources.jar')] })
  expect(result).toMatchObject({ published: 2 })
  for (const end of ['.jar', '-sources.jar', '.pom'])
    expect((await calls.get(`/maven/libs/org/part/lib/1.0/lib-1.0${end}`)).status, end).toBe(200)
})

test('the same version with other bytes stays as it is here, and no tag moves to it', async () => {
  await calls.npm('js', { name: 'kept', version: '1.0.0' })
  await calls.npm('js', { name: 'kept', version: '1.1.0' })
  const { result, said } = await take(
    { packages: [npm('kept', '1.0.0', { files: { 'more.js': 'x' } })] },
    { tags: [{ of: 0, tag: 'latest', at: '2030-01-01T00:00:00.000Z' }], marks: [{ of: 0, mark: { deprecated: 'x' } }] },
  )
  expect(result).toMatchObject({ published: 0, upstream_changed: 1 })
  expect(said.words.map(({ outcome, why }) => [outcome, why])).toEqual([
    ['refused', 'The version has other bytes here.'],
    ['refused', 'The version has other bytes here.'],
  ])
  const kept = await calls.packument<{ 'dist-tags': object; 'versions': Record<string, { deprecated?: string }> }>(
    'js',
    'kept',
  )
  expect(kept['dist-tags']).toEqual({ latest: '1.1.0' })
  expect(kept.versions['1.0.0']?.deprecated).toBeUndefined()
})
