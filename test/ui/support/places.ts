import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { ROWS } from '../../../ui/screens.ts'
import { startDaemon, type Daemon } from '../../support/daemon.ts'
import { startFakeMachine } from '../../support/fake-machine.ts'
import { buildNpm } from '../../support/packages-npm.ts'
import { buildDeb } from '../../support/packages.ts'

/** Views within the screens; every screen itself is looked at by its row in `ui/screens.ts`. */
const VIEWS = [
  'dashboard?as=table',
  'packages?pick=hello',
  'packages?pick=hello&tab=findings',
  'packages?pick=hello&tab=components',
  'packages?pick=hello&tab=versions',
  'packages?pick=hello&tab=history',
  'packages?pick=hello&tab=dependencies',
  'packages?q=nothing',
  'review?pick=leaky&version=1.0&in=jammy&arch=amd64',
  'import?tab=sources',
  'import?tab=sources&pick=jammy',
  'import?tab=keys',
  'import?tab=groups',
  'import?tab=adopt',
  'import?tab=bundles',
  'import?tab=bundles&view=make',
  'import?tab=bundles&view=take',
  'import?tab=security',
  'import?tab=mirror',
  'import?tab=mirror&pick=jammy',
  'import?tab=mirror&compare=jammy',
  'users?person=admin',
  'users?tab=tokens',
  'users?tab=groups',
  'users?tab=keys',
  'users?tab=roles',
  'audit?tab=decisions',
  'audit?q=nothing',
  'logs?level=ERROR&span=hour',
  'machine?update=/media/gatehouse-1.4.3.update',
  'registries?format=npm',
  'registries?setup=house',
  'registries?in=house',
  'registries?in=house&name=%40ours%2Fbadge',
  'downloads?as=table',
  'downloads?view=never',
  'setup',
  'setup?step=repositories',
  'setup?step=scanners',
  'setup?step=backup',
  'setup?step=factor',
]

/** The address of every screen and of every view worth a look, without what stands before the `#`. */
export const PLACES: readonly string[] = [...ROWS.map(({ name }) => `#/${name}`), ...VIEWS.map(view => `#/${view}`)]

/**
 * A daemon with something on each: two versions of `hello` are published in jammy, `leaky` waits for a decision, and
 * the registry `house` has `@ours/badge`.
 * @param folder  where the engine's answers lie; the caller removes it
 */
export async function furnished(folder: string): Promise<Daemon> {
  const answers = join(folder, 'answers.json')
  await writeFile(
    answers,
    JSON.stringify({ findings: { 'leaky 1.0': [{ id: 'CVE-2026-1001', severity: 'high', summary: 'A hole.' }] } }),
  )
  const machine = await startFakeMachine()
  const daemon = await startDaemon({
    entry: join(import.meta.dirname, '..', '..', 'support', 'fake-engine-daemon.ts'),
    env: { FAKE_ANSWERS: answers, ...machine.env },
  })
  const close = daemon.close.bind(daemon)
  daemon.close = async () => {
    await close()
    await machine.close()
  }
  const token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  for (const [name, version] of [
    ['hello', '1.0'],
    ['hello', '1.1'],
    ['leaky', '1.0'],
  ] as const)
    await daemon.upload(await buildDeb({ name, version, fields: { Depends: 'libc6 (>= 2.34)' } }), { token })
  await daemon.call('POST', '/registries/', { token, body: { name: 'house', format: 'npm' } })
  const badge = buildNpm({ name: '@ours/badge', version: '1.0.0', json: { dependencies: { 'left-grid': '^2.0.0' } } })
  await daemon.upload(badge, { token, distribution: 'house', filename: 'ours-badge-1.0.0.tgz' })
  return daemon
}
