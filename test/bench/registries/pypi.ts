import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildWheel, wheelName } from '../../support/packages-pypi.ts'
import { inTurns, type Place } from './figures.ts'
import { fastest, rateOf } from './load.ts'

const PROJECT = 'measured'
const specOf = (n: number) => ({ name: PROJECT, version: `1.${n}` })

/** The same files as a folder, for a server that reads one. */
export async function writeWheels(folder: string, files: number): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (let n = 0; n < files; n++) await writeFile(join(folder, wheelName(specOf(n))), buildWheel(specOf(n)))
}

/** As twine sends it. @throws for an answer other than 200 */
async function upload({ base, token = '' }: Place, n: number): Promise<void> {
  const form = new FormData()
  form.set(':action', 'file_upload')
  form.set('protocol_version', '1')
  form.set('name', PROJECT)
  form.set('version', specOf(n).version)
  form.set('filetype', 'bdist_wheel')
  form.set('content', new Blob([new Uint8Array(buildWheel(specOf(n)))]), wheelName(specOf(n)))
  const answer = await fetch(`${base}/legacy/`, {
    method: 'POST',
    headers: {
      'Authorization': `Basic ${Buffer.from(`__token__:${token}`).toString('base64')}`,
      'X-Forwarded-For': `198.19.${(n >> 6) & 255}.1`,
    },
    body: form,
  })
  if (answer.status !== 200) throw new Error(`${base} answered ${answer.status} ${(await answer.text()).slice(0, 300)}`)
}

/** The page of a project with so many files, asked for by 20 connections at once. */
export async function measurePages(places: readonly Place[], files: number): Promise<void> {
  const [ours] = places
  if (ours !== undefined)
    for (let n = 0; n < files; n += 4)
      await Promise.all(Array.from({ length: Math.min(4, files - n) }, (_, i) => upload(ours, n + i)))
  console.log(`The simple page of a project with ${files} files, 20 connections:`)
  const rates = await inTurns(places, 2, place =>
    rateOf(place, {
      path: `${new URL(place.base).pathname.replace(/\/$/, '')}/simple/${PROJECT}/`,
      headers: 'Accept: text/html\r\n',
      connections: 20,
    }),
  )
  for (const [place, all] of rates) {
    const { perSecond, cpuMs } = fastest(all)
    console.log(`  ${place.called.padEnd(22)} ${perSecond.toFixed(0)} a second, ${cpuMs.toFixed(2)} ms of CPU each`)
  }
}
