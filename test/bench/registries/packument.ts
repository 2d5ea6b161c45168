import type { startRegistryUpstream } from '../../support/registry-upstream.ts'
import { costOf, longestPause, print, type Place } from './figures.ts'

/** As `next` has them: 20 MB and 2,600 versions. */
const [VERSIONS, BYTES_EACH] = [2_600, 7_800]

function packumentOf(name: string, url: string): string {
  const versions: Record<string, unknown> = {}
  const time: Record<string, string> = {}
  for (let n = 0; n < VERSIONS; n++) {
    const version = `${1 + Math.floor(n / 100)}.${n % 100}.0`
    const dependencies: Record<string, string> = {}
    for (let at = 0, size = 0; size < BYTES_EACH; at++) {
      const [key, range] = [`@measured/dependency-${at}-of-${n}`, `^${at}.${n}.0`]
      dependencies[key] = range
      size += key.length + range.length + 6
    }
    versions[version] = {
      name,
      version,
      dependencies,
      dist: {
        tarball: `${url}/${name}/-/${name}-${version}.tgz`,
        shasum: 'a'.repeat(40),
        integrity: `sha512-${'A'.repeat(86)}==`,
      },
    }
    time[version] = '2020-01-01T00:00:00.000Z'
  }
  const latest = Object.keys(versions).at(-1)
  return JSON.stringify({ '_id': name, name, 'dist-tags': { latest }, time, versions })
}

/**
 * A list of 20 MB that a proxy fetches, judges and answers: cold, then from what it prepared, then after the upstream
 * changed.
 * @param upstream  where the proxy reads through to
 * @returns the longest pause of the main thread in milliseconds, and the most memory in MB
 */
export async function measurePackument(
  place: Place,
  { upstream, pauses }: { upstream: Awaited<ReturnType<typeof startRegistryUpstream>>; pauses: string },
): Promise<{ readonly pause: number; readonly memory: number }> {
  const name = 'enormous'
  const body = packumentOf(name, upstream.url)
  upstream.put(`/${name}`, { type: 'application/json', body })
  console.log(`A list of ${(body.length / 1e6).toFixed(1)} MB with ${VERSIONS} versions, through a proxy:`)
  await longestPause(place.server, pauses)
  let [longest, memory] = [0, 0]
  for (const [said, times] of [
    ['first', 1],
    ['again, 8 clients', 8],
  ] as const) {
    const cost = await costOf(place, () =>
      Promise.all(
        Array.from({ length: times }, async () => {
          const answer = await fetch(`${place.base}/${name}`, { headers: { accept: 'application/json' } })
          const text = await answer.text()
          if (!answer.ok) throw new Error(`${answer.status} ${text.slice(0, 300)}`)
        }),
      ),
    )
    const pause = await longestPause(place.server, pauses)
    longest = Math.max(longest, pause)
    memory = Math.max(memory, cost.memory)
    console.log(`  ${said.padEnd(22)} ${print(cost)}; longest pause ${pause.toFixed(1)} ms`)
  }
  return { pause: longest, memory }
}
