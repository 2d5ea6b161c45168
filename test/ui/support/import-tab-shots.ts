import type { Page } from 'playwright-core'
import type { Vendors } from './vendors.ts'
import type { Shot } from './shots.ts'

/** What these pictures work with, once the vendors are there. */
export interface ImportStage {
  readonly vendors: () => Vendors
  readonly call: (method: string, path: string, body?: object) => Promise<Record<string, unknown>>
  readonly sync: (target: string) => Promise<void>
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first()
const press =
  (name: string | RegExp) =>
  (page: Page): Promise<void> =>
    button(page, name).click()
const MIRROR = '#/import?tab=mirror'
const BUNDLES = '#/import?tab=bundles'

/** Mirrors: rules, reports, freezes, comparison. */
export function mirrorShots({ call, sync }: ImportStage): readonly Shot[] {
  const run = async (key: string): Promise<void> => {
    const { job_id: id } = await call('POST', `/import/mirror/start/${key}`)
    while ((await call('GET', `/import/mirror/jobs/${String(id)}`)).status === 'running')
      await new Promise(resolve => {
        setTimeout(resolve, 200)
      })
  }
  return [
    {
      name: 'import-mirror',
      at: MIRROR,
      before: async () => {
        for (const key of ['bookworm', 'bookworm-security']) await sync(key)
        await call('PATCH', '/import/mirror/sources/bookworm', { names: ['postgresql*', '!*plpython*'], newest: 1 })
        await call('POST', '/import/mirror/sources', { sources: { 'bookworm': true, 'bookworm-security': true } })
        await run('bookworm')
        await call('POST', '/import/mirror/distributions/jammy/freeze', { reason: 'Line 4 is being certified.' })
      },
    },
    { name: 'import-mirror-source', at: `${MIRROR}&pick=bookworm` },
    { name: 'import-mirror-rule', at: `${MIRROR}&pick=bookworm`, act: press('Change the rule') },
    { name: 'import-mirror-schedule', at: MIRROR, act: press('Schedule and bounds') },
    { name: 'import-mirror-freeze', at: `${MIRROR}&which=targets`, act: press('Freeze bookworm') },
    {
      name: 'import-mirror-compare',
      at: `${MIRROR}&compare=bookworm`,
      before: () => call('PATCH', '/import/mirror/sources/bookworm', { names: [], newest: null }),
    },
    { name: 'import-mirror-targets', at: `${MIRROR}&which=targets` },
    { name: 'import-mirror-reader', at: MIRROR, who: 'r.silva' },
  ]
}

/** Bundles: this installation is its own site, so that what it made comes back. */
export function bundleShots({ call }: ImportStage): readonly Shot[] {
  const ended = async (asked: Record<string, unknown>): Promise<Record<string, unknown>> => {
    for (;;) {
      const job = await call('GET', `/jobs/${String(asked.job_id)}`)
      if (job.finished_at !== null) return job
      await new Promise(resolve => {
        setTimeout(resolve, 200)
      })
    }
  }
  let root = ''
  const make = async (site: string, more: object = {}): Promise<string> => {
    const { result } = await ended(await call('POST', '/bundles', { site, vulnerability: false, ...more }))
    const { id, name } = result as { id: number; name: string }
    await ended(await call('POST', `/bundles/${id}/copy`, { directory: root }))
    return `${root}/${name}.bundle.tar`
  }
  const seed = async (): Promise<void> => {
    const { media } = await call('GET', '/bundles/media')
    root = (media as { directory: string }[])[0]?.directory ?? ''
    const { key } = await call('GET', '/bundles')
    const { fingerprint } = key as { fingerprint: string }
    for (const [name, label] of [
      ['plant-north', 'Plant north'],
      ['ship-alva', 'Ship Alva'],
    ]) {
      await call('POST', '/bundles/sites', { name, label })
    }
    await call('PUT', '/bundles/sites/plant-north/key', { fingerprint })
    const first = await make('plant-north', { distributions: ['jammy'] })
    await make('plant-north', { distributions: ['almalinux9'] })
    const third = await make('plant-north', { packages: ['plant-agent'], base: 'bundle' })
    await make('ship-alva', { distributions: ['bookworm'] })
    await call('POST', '/bundles/senders', { name: 'gatehouse-hub', fingerprint })
    await ended(await call('POST', '/bundles/import', { path: first }))
    await ended(await call('POST', '/bundles/import', { path: third }))
  }
  const at = (name: string) => `${BUNDLES}&view=take&path=${encodeURIComponent(`${root}/${name}.bundle.tar`)}`
  return [
    { name: 'import-bundles-none', at: BUNDLES },
    { name: 'import-bundles', at: BUNDLES, before: seed },
    { name: 'import-bundle-came', at: `${BUNDLES}&pick=came-1` },
    { name: 'import-bundle-made', at: `${BUNDLES}&pick=made-2` },
    { name: 'import-bundle-site', at: BUNDLES, act: press('Add a site') },
    { name: 'import-bundle-receipt', at: BUNDLES, act: press('Read a receipt') },
    { name: 'import-bundle-make', at: `${BUNDLES}&view=make` },
    { name: 'import-bundle-what', at: `${BUNDLES}&view=make&site=plant-north` },
    {
      name: 'import-bundle-written',
      at: `${BUNDLES}&view=make&site=ship-alva`,
      act: async page => {
        await page.getByText('are there already', { exact: false }).first().waitFor()
        await button(page, 'Make the bundle').click()
        await page.getByRole('heading', { name: /is made$/ }).waitFor()
      },
    },
    { name: 'import-bundle-take', at: `${BUNDLES}&view=take` },
    {
      name: 'import-bundle-look',
      at: `${BUNDLES}&view=take`,
      act: page => page.goto(page.url().replace(/#.*/, at('plant-north-0002'))),
    },
    { name: 'import-bundles-reader', at: BUNDLES, who: 'r.silva' },
  ]
}

/** Security updates of what the mirrors brought. */
export function securityShots({ vendors, call, sync }: ImportStage): readonly Shot[] {
  const at = '#/import?tab=security'
  const release = (version: string): Promise<void> =>
    vendors().renew(new Date(), [{ name: 'libpq5', version, fields: { Description: 'PostgreSQL C client library' } }])
  return [
    {
      name: 'import-security-offer',
      at,
      before: async () => {
        await release('15.16-0+deb12u1')
        await sync('bookworm-security')
      },
    },
    {
      name: 'import-security',
      at,
      act: async page => {
        await press('Run now')(page)
        await page.getByRole('region', { name: 'Last run' }).waitFor({ timeout: 60_000 })
      },
    },
    { name: 'import-security-schedule', at, act: press('Schedule and bounds') },
    { name: 'import-security-report', at, act: press(/^Report/) },
    { name: 'import-security-reader', at, who: 'r.silva', before: () => call('GET', '/import/security-updates') },
  ]
}
