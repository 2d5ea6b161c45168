import { expect, test } from 'vitest'
import { placeAt } from './place.ts'

const at = (url: string, name: string): string => {
  const { origin, name: far } = placeAt({ registry: { kind: 'proxy', upstream: { url } } }, name)
  return `${origin} ${far}`
}

test.each([
  ['https://ghcr.io', 'org/app', 'https://ghcr.io org/app'],
  ['http://127.0.0.1:5000/', 'app', 'http://127.0.0.1:5000 app'],
  // the path of a server is before every name
  ['https://repo.example/ours', 'team/app', 'https://repo.example ours/team/app'],
  ['https://repo.example/v2/ours', 'app', 'https://repo.example ours/app'],
  ['https://repo.example/v2', 'app', 'https://repo.example app'],
  // as docker reads the names of its own registry
  ['https://docker.io', 'nginx', 'https://registry-1.docker.io library/nginx'],
  ['https://registry-1.docker.io', 'grafana/grafana', 'https://registry-1.docker.io grafana/grafana'],
  ['https://docker.io/grafana', 'grafana', 'https://registry-1.docker.io grafana/grafana'],
])('%s and %s', (url, name, place) => {
  expect(at(url, name)).toBe(place)
})

test('what is no address of a server is refused', () => {
  for (const url of ['', 'ftp://repo.example', 'https://user:secret@repo.example'])
    expect(() => at(url, 'app'), url).toThrow('No request is sent')
})
