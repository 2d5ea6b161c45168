import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { createSigner, signatureBy, signatureTag } from '../support/cosign.ts'
import { buildImage, buildIndex, layerOf } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'
import { osvRecord, osvZip } from '../support/zip.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

describe.skipIf(noBrowser !== undefined)('an image', () => {
  let page: Page
  let admin: string
  const it = people(stage => {
    ;({ page, admin } = stage)
  })
  const card = (name: string | RegExp) => page.getByRole('region', { name })
  const row = (table: string, text: string) =>
    page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text })

  async function call(method: string, path: string, body: Record<string, unknown> | FormData): Promise<void> {
    const sent = body instanceof FormData ? { form: body } : { body }
    const { status, text } = await it.daemon.call(method, path, { token: admin, ...sent })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
  }

  const debian = { name: 'etc/os-release', body: 'ID=debian\nVERSION_ID="12"\n' }
  const status =
    'Package: libssl3\nStatus: install ok installed\nArchitecture: amd64\nSource: openssl\nVersion: 3.0.1-1\n'
  const base = layerOf(debian, { name: 'bin/sh', body: 'x'.repeat(40_000) })
  const libraries = layerOf({ name: 'var/lib/dpkg/status', body: status })
  const settings = layerOf({ name: 'etc/telemetry.yaml', body: 'port: 1883\n' })
  const history = [
    { created_by: '/bin/sh -c #(nop) ADD file:81c5fe in / ' },
    { created_by: '/bin/sh -c #(nop)  CMD ["bash"]', empty_layer: true },
    { created_by: 'RUN /bin/sh -c apt-get install -y libssl3 # buildkit' },
    { created_by: 'USER telemetry', empty_layer: true },
    { created_by: 'COPY telemetry.yaml /etc/ # buildkit' },
  ]

  test('shows its layers with what made them and what was found in each, who signed it, and the images of an index', async () => {
    const form = new FormData()
    const records = [
      osvRecord('DEBIAN-CVE-2026-10002', [['Debian:12', 'openssl', '3.0.2-1']], {
        upstream: ['CVE-2026-10002'],
      }),
    ]
    form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
    await call('POST', '/security/database', form)
    await call('PATCH', '/settings/', { validation: { on_scanner_unavailable: 'warn', clamav_scan: false } })
    await call('POST', '/registries/', { name: 'images', format: 'oci' })
    const team = createSigner()
    await call('POST', '/image-keys', { name: 'release team', public_key: team.pem })
    const client = (name: string) => createOciClient(it.daemon.url, `images/${name}`, `Bearer ${admin}`)
    const { push } = client('plant/telemetry')
    const image = buildImage({
      ...{ layers: [base, libraries, settings], comment: 'telemetry', user: 'telemetry', history },
    })
    const arm = buildImage({ layers: [settings], comment: 'arm', architecture: 'arm64' })
    await client('plant/other').push(buildImage({ layers: [base], comment: 'other' }), 'v1')
    await push(image)
    await push(arm)
    await push(buildIndex({ amd64: image, arm64: arm }), '3.2')
    await push(signatureBy(team, image), signatureTag(image))

    await it.asAdmin(`#/registries?in=images&name=plant%2Ftelemetry&version=${encodeURIComponent(image.digest)}`)
    const layers = page.getByRole('table', { name: 'Layers' })
    await layers.waitFor()
    await row('Layers', 'file:81c5fe in /').getByText('shared with 1 other image').waitFor()
    await row('Layers', 'file:81c5fe in /').getByText('add', { exact: true }).waitFor()
    await row('Layers', 'apt-get install -y libssl3').getByRole('img', { name: /^1 / }).waitFor()
    await row('Layers', 'telemetry.yaml /etc/').getByText('copy', { exact: true }).waitFor()
    await card('Facts').getByText('telemetry, not root').waitFor()
    await card('Facts').getByText(`Signed by release team (key SHA-256 ${team.fingerprint}).`).waitFor()
    await card('Facts').getByText('linux/amd64').waitFor()
    await it.isFine()

    await layers.getByRole('button', { name: /^Layer 1:/ }).click()
    await card('Layer 1 brought').waitFor()
    expect(await card('Layer 1 brought').getByText('CVE-2026-10002').count()).toBe(0)
    await layers.getByRole('button', { name: /^Layer 2:/ }).click()
    await card('Layer 2 brought').getByText('CVE-2026-10002').first().waitFor()
    await it.isFine()

    // to the index, and from there to the image of a platform
    await page
      .getByRole('table', { name: 'Versions' })
      .getByRole('row')
      .filter({ hasText: 'index' })
      .getByRole('button')
      .first()
      .click()
    await row('Images', 'linux/arm64').getByText('Published').waitFor()
    await it.isFine()
    await row('Images', 'linux/arm64').getByRole('button').click()
    await card('Facts').getByText('linux/arm64').waitFor()
    // a config that does not say how its layers were made leaves that open
    await layers.getByText('not said').waitFor()
    await card('Facts').getByText('root', { exact: true }).waitFor()
    await it.isFine()
  })
})
