import { expect, test } from 'vitest'
import { hostedRegistry } from '../../../test/support/defined-registries.ts'
import type { RegistryRules } from '../../core/registry.ts'
import { ociClient } from './client.ts'

const setups = (registry: RegistryRules, address = 'https://repo.example/v2/hub') =>
  ociClient.setups(
    { ...hostedRegistry('hub', 'oci'), registry },
    { address, needsToken: false, publishes: registry.kind === 'hosted' },
  )
const fileOf = (registry: RegistryRules, address?: string): string | undefined =>
  setups(registry, address).find(({ client }) => client === 'podman')?.files[0]?.content

test('lines that push are there where images are pushed', () => {
  const publishes = (registry: RegistryRules) => setups(registry).filter(({ publish }) => publish !== undefined).length
  expect(publishes({ kind: 'hosted' })).toBe(3)
  expect(publishes({ kind: 'group', members: [] })).toBe(0)
  const proxy: RegistryRules = { kind: 'proxy', upstream: { url: 'https://ghcr.io' } }
  expect(publishes(proxy)).toBe(0)
  expect(JSON.stringify(setups(proxy))).not.toMatch(/push|skopeo delete/)
})

test('podman is told which names come through', () => {
  const of = (url: string): RegistryRules => ({ kind: 'proxy', upstream: { url } })
  expect(fileOf({ kind: 'hosted' })).toBeUndefined()
  expect(fileOf(of('https://registry-1.docker.io'))).toBe(
    '[[registry]]\nprefix = "docker.io"\nlocation = "repo.example/hub"\n',
  )
  expect(fileOf(of('https://ghcr.io/v2/team'), 'http://127.0.0.1:8000/v2/hub')).toBe(
    '[[registry]]\nlocation = "127.0.0.1:8000"\ninsecure = true\n\n[[registry]]\nprefix = "ghcr.io/team"\nlocation = "127.0.0.1:8000/hub"\ninsecure = true\n',
  )
})
