import type { Client } from 'pg'
import { asUnavailable } from './database-unavailable.ts'

/** Connects it. @throws DatabaseGone, also for a server that is too busy to answer in time */
export async function connect(client: Client): Promise<void> {
  client.on('error', () => undefined) // the statement under way says it
  await client.connect().catch((error: unknown) => {
    throw asUnavailable(error)
  })
}

/** Works with a connection of its own, which is closed at the end. @throws as `connect`, and what `work` throws */
export async function connected<T>(open: () => Client, work: (client: Client) => Promise<T>): Promise<T> {
  const client = open()
  await connect(client)
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
