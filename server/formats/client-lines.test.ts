import { expect, test } from 'vitest'
import { hostedRegistry } from '../../test/support/defined-registries.ts'
import { mavenClient } from './maven/client.ts'
import { npmClient } from './npm/client.ts'
import { ociClient } from './oci/client.ts'
import { pypiClient } from './pypi/client.ts'
import type { RegistryClient, RegistrySetup } from './registry-client.ts'

/** The lines for one client of the registry `ours`. */
function lines(client: RegistryClient, format: string, name: string, origin: string): RegistrySetup | undefined {
  const address = `${origin}/${client.root}/ours`
  const setups = client.setups(hostedRegistry('ours', format), { address, needsToken: false, publishes: true })
  return setups.find(one => one.client === name)
}

test('pip is told of a host without TLS by commands as by its file', () => {
  const far = lines(pypiClient, 'pypi', 'pip, twine', 'http://repo.example:8000')
  expect(far?.files[0]?.content).toContain('trusted-host = repo.example\n')
  expect(far?.setup).toEqual([
    'pip config set global.index-url http://repo.example:8000/pypi/ours/simple/',
    'pip config set global.trusted-host repo.example',
  ])
  expect(JSON.stringify(lines(pypiClient, 'pypi', 'pip, twine', 'https://repo.example'))).not.toContain('trusted')
})

test('Maven is told of a host without TLS that is not its own machine', () => {
  const settings = (origin: string) => lines(mavenClient, 'maven', 'Maven', origin)?.files[0]?.content
  expect(settings('http://repo.example')).toContain(`
  <mirrors>
    <mirror>
      <id>ours</id>
      <url>http://repo.example/maven/ours</url>
      <mirrorOf>ours</mirrorOf>
    </mirror>
  </mirrors>
`)
  for (const origin of ['http://127.0.0.1:8000', 'https://repo.example'])
    expect(settings(origin)).not.toContain('mirror')
})

test('files that commands need before them say so, and commands that set up less than a file are not there', () => {
  const first = (name: string, origin: string) =>
    lines(ociClient, 'oci', name, origin)?.files.map(file => [file.path, file.first])
  expect(first('docker', 'http://repo.example')).toEqual([['/etc/docker/daemon.json', true]])
  expect(first('podman', 'http://repo.example')).toEqual([['/etc/containers/registries.conf.d/gatehouse.conf', true]])
  expect(first('podman', 'https://repo.example')).toEqual([])
  for (const name of ['yarn 1', 'CI']) expect(lines(npmClient, 'npm', name, 'https://repo.example')?.setup).toEqual([])
})
