import { createHash, randomBytes } from 'node:crypto'
import { buildNpm } from '../../support/packages-npm.ts'
import { createNpmHome } from '../../support/npm-clients.ts'
import { costOf, inTurns, print, quickest, type Place } from './figures.ts'

const ROUNDS = 3
const nameOf = (n: number): string => `measured-${n}`

/** As `npm publish` sends it. @throws for an answer other than 200 or 201 */
export async function publish({ base, token }: Place, name: string, n: number): Promise<void> {
  const tarball = buildNpm({
    name,
    version: '1.0.0',
    files: { 'index.js': `module.exports = '${randomBytes(4_000).toString('hex')}'\n` },
  })
  const file = `${name}-1.0.0.tgz`
  const dist = {
    integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    shasum: createHash('sha1').update(tarball).digest('hex'),
    tarball: `${base}/${name}/-/${file}`,
  }
  const manifest = { name, version: '1.0.0', description: `The package ${name}`, license: 'MIT', dist }
  const data = tarball.toString('base64')
  const answer = await fetch(`${base}/${name}`, {
    method: 'PUT',
    headers: {
      'Content-Type': 'application/json',
      // uploads are limited for each client address
      'X-Forwarded-For': `198.18.${(n >> 6) & 255}.1`,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      '_id': name,
      name,
      'dist-tags': { latest: '1.0.0' },
      'versions': { '1.0.0': manifest },
      '_attachments': { [file]: { content_type: 'application/octet-stream', data, length: tarball.length } },
    }),
  })
  if (!answer.ok) throw new Error(`${base} answered ${answer.status} ${(await answer.text()).slice(0, 300)}`)
}

async function install({ base, server }: Place, packages: number): Promise<void> {
  const home = await createNpmHome({ registry: base })
  try {
    const dependencies = Object.fromEntries(Array.from({ length: packages }, (_, n) => [nameOf(n), '^1.0.0']))
    const project = await home.project({
      'package.json': JSON.stringify({ name: 'app', version: '1.0.0', dependencies }),
    })
    const { code, all } = await home.run('npm', ['install', '--no-audit', '--ignore-scripts'], project)
    if (code !== 0) throw new Error(`npm ended with ${code} at ${server.url}: ${all.slice(-500)}`)
  } finally {
    await home.close()
  }
}

/** Installs an application of so many packages by npm with an empty cache, from registries that served it before. */
export async function measureInstalls(places: readonly Place[], packages: number): Promise<number> {
  for (const place of places)
    for (let n = 0; n < packages; n += 8)
      await Promise.all(Array.from({ length: Math.min(8, packages - n) }, (_, i) => publish(place, nameOf(n + i), n)))
  for (const place of places) await install(place, packages)
  const costs = await inTurns(places, ROUNDS, place => costOf(place, () => install(place, packages)))
  console.log(`npm install of ${packages} packages, empty cache, the best of ${ROUNDS}:`)
  const best = [...costs].map(([place, all]) => ({ place, cost: quickest(all) }))
  for (const { place, cost } of best) console.log(`  ${place.called.padEnd(22)} ${print(cost)}`)
  return Math.max(...(costs.get(places[0] as Place) ?? []).map(({ memory }) => memory))
}
