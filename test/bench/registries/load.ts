import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Load, Received } from '../load.ts'
import { costOf, type Place } from './figures.ts'

/** Answers to one kind of request. */
export interface Rate {
  readonly perSecond: number
  readonly megabytes: number
  /** Milliseconds of CPU of the server for each answer. */
  readonly cpuMs: number
}

function send(load: Load): Promise<Received> {
  const worker = new Worker(join(import.meta.dirname, '..', 'load.ts'), { workerData: load })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

/** Asks for one path over and over for three seconds. @throws for an answer other than 200 */
export async function rateOf(
  place: Place,
  { path, headers = '', connections }: { path: string; headers?: string; connections: number },
): Promise<Rate> {
  let received: Received | undefined
  const { wall, cpu } = await costOf(place, async () => {
    received = await send({ port: Number(place.server.url.port), path, headers, connections, ms: 3_000 })
  })
  const { answers = 0, bytes = 0, odd } = received ?? {}
  if (odd !== undefined) throw new Error(`${place.called} answered ${odd} for ${path}`)
  return { perSecond: answers / wall, megabytes: bytes / wall / 1e6, cpuMs: (cpu * 1000) / answers }
}

export const fastest = (rates: readonly Rate[]): Rate =>
  rates.reduce((one, other) => (other.megabytes > one.megabytes ? other : one))
