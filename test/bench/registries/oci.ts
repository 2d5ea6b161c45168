import { randomBytes } from 'node:crypto'
import { buildImage, layerOf, sha256, type BuiltImage } from '../../support/oci-images.ts'
import { inTurns, type Place } from './figures.ts'
import { fastest, rateOf } from './load.ts'

const LAYER_BYTES = 50_000_000
const NAME = 'app'

async function put(place: Place, address: string | URL, body: Buffer, type = 'application/octet-stream') {
  const { called, token } = place
  const answer = await fetch(address, {
    method: 'PUT',
    headers: { 'Content-Type': type, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
    body: new Uint8Array(body),
  })
  if (answer.status !== 201) throw new Error(`${called} answered ${answer.status} ${await answer.text()}`)
}

/** As skopeo and docker push: each blob by POST and PUT, then the manifest. @throws for an answer other than 201 */
async function push(place: Place, { config, layers, manifest, mediaType }: BuiltImage, tag: string): Promise<void> {
  const { base, token } = place
  for (const blob of [config, ...layers]) {
    const begun = await fetch(`${base}/${NAME}/blobs/uploads/`, {
      method: 'POST',
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    })
    const at = new URL(begun.headers.get('location') ?? '', base)
    at.searchParams.set('digest', sha256(blob))
    await put(place, at, blob)
  }
  await put(place, `${base}/${NAME}/manifests/${tag}`, manifest, mediaType)
}

/** Pulls of an image with one layer of 50 MB: the manifest by many, the layer by eight at once. */
export async function measurePulls(places: readonly Place[]): Promise<void> {
  const layer = layerOf({ name: 'opt/measured', body: randomBytes(LAYER_BYTES) })
  const image = buildImage({ layers: [layer] })
  for (const place of places) await push(place, image, '1')
  const pathOf = ({ base }: Place, rest: string): string => `${new URL(base).pathname}/${NAME}/${rest}`
  for (const { said, rest, connections, isLarge } of [
    { said: 'A manifest by its tag', rest: 'manifests/1', connections: 20, isLarge: false },
    { said: 'A layer of 50 MB', rest: `blobs/${sha256(layer)}`, connections: 8, isLarge: true },
  ]) {
    const headers = `Accept: ${image.mediaType}\r\n`
    const rates = await inTurns(places, 2, place => rateOf(place, { path: pathOf(place, rest), headers, connections }))
    console.log(`${said}, ${connections} connections:`)
    for (const [place, all] of rates) {
      const { perSecond, megabytes, cpuMs } = fastest(all)
      const rate = isLarge ? `${megabytes.toFixed(0)} MB/s` : `${perSecond.toFixed(0)} a second`
      console.log(`  ${place.called.padEnd(22)} ${rate}, ${cpuMs.toFixed(2)} ms of CPU each`)
    }
  }
}
