import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import { buildImage, buildIndex, layerOf, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'
import { said } from '../support/skopeo.ts'
import { findProgram, run, type Ran } from '../support/tools.ts'

const cosign = process.env.COSIGN ?? findProgram('cosign')

/** A registry of somebody else, and the service. */
let far: Daemon
let daemon: Daemon
let work: string
let admin: string
let farAdmin: string
let token: string

const settings = async (one: Daemon, secret: string, body: object): Promise<void> => {
  const { status, text } = await one.call('PATCH', '/settings/', { token: secret, body })
  expect(status, text).toBe(200)
}
const call = async (method: string, path: string, body: object): Promise<void> => {
  const { status, text } = await daemon.call(method, path, { token: admin, body })
  expect(status, text).toBeLessThan(300)
}
/** Runs the program where nothing outside is asked: no transparency log, no time stamps, no roots of trust. */
const sigstore = (args: readonly string[]): Promise<Ran> =>
  run(cosign ?? 'cosign', args, {
    cwd: work,
    env: { HOME: work, DOCKER_CONFIG: work, COSIGN_PASSWORD: 'a password', COSIGN_YES: 'true' },
  })
async function must(...args: readonly string[]): Promise<Ran> {
  const ran = await sigstore(args)
  expect(ran.code, said(ran)).toBe(0)
  return ran
}

beforeAll(async () => {
  if (cosign === undefined) return
  work = await mkdtemp(join(tmpdir(), 'gh-cosign-'))
  const [farRoot, root] = [join(work, 'far'), join(work, 'root')]
  await defineRegistries(farRoot, [hostedRegistry('lib', 'oci')])
  await defineRegistries(root, [hostedRegistry('asks', 'oci'), hostedRegistry('strict', 'oci')])
  ;[far, daemon] = await Promise.all([startDaemon({ root: farRoot }), startDaemon({ root })])
  const quiet = { validation: { on_scanner_unavailable: 'warn', clamav_scan: false } }
  farAdmin = await far.setupAdmin()
  await settings(far, farAdmin, quiet)
  admin = await daemon.setupAdmin()
  await settings(daemon, admin, { ...quiet, notifications: { allow_private_hosts: '127.0.0.1' } })
  const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
    token: admin,
    body: { name: 'builds', role: 'maintainer' },
  })
  token = made.body.token
  await call('PATCH', '/registries/asks', { require_signature: 'review' })
  await call('PATCH', '/registries/strict', { require_signature: 'block' })
  const proxy = { name: 'hub', format: 'oci', kind: 'proxy', upstream: { url: `${far.url}/lib` } }
  await call('POST', '/registries/', { ...proxy, require_signature: 'review' })
  for (const key of ['team', 'stranger']) await must('generate-key-pair', '--output-key-prefix', key)
  const pem = await readFile(join(work, 'team.pub'), 'utf8')
  await call('POST', '/image-keys', { name: 'release team', public_key: pem })
  for (const [one, secret] of [
    [daemon, token],
    [far, farAdmin],
  ] as const)
    await must('login', new URL(one.url).host, '-u', 'person', '-p', secret)
})
afterAll(async () => {
  if (cosign === undefined) return
  await daemon.close()
  await far.close()
  await rm(work, { recursive: true, force: true })
})

const imageOf = (text: string, architecture = 'amd64'): BuiltImage =>
  buildImage({ layers: [layerOf({ name: 'etc/said', body: text })], comment: text, architecture })
const client = (name: string) => createOciClient(daemon.url, name, `Bearer ${token}`)
const placeOf = (name: string, { digest }: BuiltImage, one = daemon): string =>
  `${new URL(one.url).host}/${name}@${digest}`

const FORMS = {
  'a bundle beside the image': ['--new-bundle-format=true'],
  'a tag': ['--new-bundle-format=false'],
} as const
const sign = (place: string, form: readonly string[], key = 'team'): Promise<Ran> =>
  sigstore([
    ...['sign', '--key', `${key}.key`, '--allow-http-registry', '--use-signing-config=false', '--tlog-upload=false'],
    ...[...form, place],
  ])
const verify = (place: string, form: readonly string[]): Promise<Ran> =>
  sigstore([...['verify', '--key', 'team.pub', '--allow-http-registry', '--insecure-ignore-tlog', ...form, place]])

describe.skipIf(cosign === undefined)('cosign (needs cosign on PATH, or named by COSIGN)', () => {
  test.each(Object.entries(FORMS))('an image waits, and is published when it signs it: %s', async (what, form) => {
    const { push, manifest } = client('asks/app')
    const image = imageOf(what)
    const tag = what.replaceAll(' ', '-')
    expect((await push(image, tag)).headers.get('warning')).toContain('It waits for its signature')
    const place = placeOf('asks/app', image)
    const wrong = await sign(place, form, 'stranger')
    expect(wrong.code, said(wrong)).toBe(0)
    expect((await manifest(tag)).status).toBe(403)
    const signed = await sign(place, form)
    expect(signed.code, said(signed)).toBe(0)
    expect((await manifest(tag)).bytes.equals(image.manifest)).toBe(true)
    const verified = await verify(place, form)
    expect(verified.code, said(verified)).toBe(0)
  })

  test('images of an index that it signs', async () => {
    const { push, manifest } = client('strict/many')
    const images = [imageOf('many'), imageOf('many', 'arm64')] as const
    for (const image of images) expect((await push(image)).status).toBe(201)
    const index = buildIndex({ amd64: images[0], arm64: images[1] })
    await push(index, 'v1')
    const signed = await sign(placeOf('strict/many', index), FORMS['a bundle beside the image'])
    expect(signed.code, said(signed)).toBe(0)
    for (const reference of ['v1', images[0].digest, images[1].digest])
      expect((await manifest(reference)).status, reference).toBe(200)
  })

  test('an index, its images and an index above them that it signs one by one, from the top', async () => {
    const { push, manifest } = client('strict/recursive')
    const images = [imageOf('recursive'), imageOf('recursive', 'arm64')] as const
    const inner = buildIndex({ amd64: images[0], arm64: images[1] })
    const outer = buildIndex({ amd64: inner })
    for (const one of [...images, inner]) expect((await push(one)).status).toBe(201)
    await push(outer, 'v1')
    const signed = await sign(placeOf('strict/recursive', outer), ['--recursive', '--new-bundle-format=true'])
    expect(signed.code, said(signed)).toBe(0)
    for (const reference of ['v1', inner.digest, images[0].digest, images[1].digest])
      expect((await manifest(reference)).status, reference).toBe(200)
  })

  test('six images at once, each by a good and by a wrong key at the same moment', async () => {
    const { push, manifest } = client('asks/six')
    const images = Array.from({ length: 6 }, (_, n) => imageOf(`six ${n}`))
    await Promise.all(images.map((image, n) => push(image, `v${n}`)))
    const ran = await Promise.all(
      images.flatMap(image =>
        ['team', 'stranger'].map(key => sign(placeOf('asks/six', image), FORMS['a bundle beside the image'], key)),
      ),
    )
    expect(ran.filter(({ code }) => code !== 0).map(said)).toEqual([])
    for (const [n, image] of images.entries()) {
      await vi.waitFor(async () => expect((await manifest(`v${n}`)).bytes.equals(image.manifest)).toBe(true), 10_000)
      const verified = await verify(placeOf('asks/six', image), FORMS['a bundle beside the image'])
      expect(verified.code, said(verified)).toBe(0)
    }
  })

  test('an attestation is kept and verifies, and is no signature', async () => {
    const { push, manifest } = client('asks/attested')
    const image = imageOf('attested')
    expect((await push(image, 'v1')).status).toBe(201)
    const place = placeOf('asks/attested', image)
    const attest = ['attest', '--key', 'team.key', '--allow-http-registry', '--use-signing-config=false']
    await must(...attest, '--tlog-upload=false', '--type', 'custom', '--predicate', 'team.pub', place)
    expect((await manifest('v1')).status).toBe(403)
    await must(
      ...['verify-attestation', '--key', 'team.pub', '--allow-http-registry', '--insecure-ignore-tlog'],
      ...['--type', 'custom', place],
    )
  })

  test.each(Object.entries(FORMS))(
    'through a registry that reads through and asks for signatures: %s',
    async (what, form) => {
      const { push } = createOciClient(far.url, 'lib/theirs', `Bearer ${farAdmin}`)
      const image = imageOf(`far ${what}`)
      const tag = what.replaceAll(' ', '-')
      expect((await push(image, tag)).status).toBe(201)
      const { manifest } = client('hub/theirs')
      expect((await manifest(tag)).status).toBe(403)
      const signed = await sign(placeOf('lib/theirs', image, far), form)
      expect(signed.code, said(signed)).toBe(0)
    },
  )

  test.each(Object.entries(FORMS))(
    'what it signed at the upstream before comes through at once: %s',
    async (what, form) => {
      const { push } = createOciClient(far.url, 'lib/signed', `Bearer ${farAdmin}`)
      const image = imageOf(`signed ${what}`)
      const tag = what.replaceAll(' ', '-')
      expect((await push(image, tag)).status).toBe(201)
      const signed = await sign(placeOf('lib/signed', image, far), form)
      expect(signed.code, said(signed)).toBe(0)
      expect((await client('hub/signed').manifest(tag)).bytes.equals(image.manifest)).toBe(true)
    },
  )
})
